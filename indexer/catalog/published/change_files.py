"""The files of the change log: appended to after each commit, and repaired at the start from the catalogue.

What is written is synced to disk now and then; until it is, the catalogue keeps the same frames.
"""

import itertools
import os
import time
from pathlib import Path
from typing import Final

from indexer.catalog.published.files import sync
from indexer.catalog.store_errors import explain_errors
from schemas import change_log

SEGMENT_BYTES: Final = 8 << 20
_HOUR: Final = 3_600_000_000  # microseconds; after it a new segment begins, as only whole ones are removed


class ChangeFiles:
    """The folder `changes`. Used on one thread. Every method raises StoreError when the disk refuses."""

    def __init__(self, folder: Path, hours: float, segment_bytes: int = SEGMENT_BYTES) -> None:
        self._folder = folder
        self._kept = int(hours * _HOUR)
        self._segment_bytes = segment_bytes
        with explain_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            segments = change_log.list_segments(folder)
            if segments:
                self._open(segments[-1])
            else:
                self.position = _now()
                self._begin()
            self._prune()
        self.synced = self.position

    def _open(self, segment: change_log.Segment) -> None:
        """Continue a segment: what an interrupted write left at its end goes."""
        content = segment.path.read_bytes()
        self.position, self._size = segment.after, 0
        for last, _, end in change_log.frame_ends(content):
            self.position, self._size = last, end
        self._began = segment.after
        self._file = segment.path.open("r+b", buffering=0)
        self._file.truncate(self._size)
        self._file.seek(self._size)
        os.fsync(self._file.fileno())

    def _begin(self) -> None:
        path = change_log.segment_path(self._folder, self.position)
        self._file = path.open("xb", buffering=0)
        self._began, self._size = self.position, 0
        sync(self._folder)

    def append(self, frame: bytes, position: int) -> None:
        """Write a frame. `position`: of its last change."""
        with explain_errors(self._folder):
            if self._size and (self._size >= self._segment_bytes or _now() - self._began >= _HOUR):
                self._next_segment()
            left = memoryview(frame)
            try:
                while left:
                    left = left[self._file.write(left) :]
            except OSError:
                self._file.truncate(self._size)
                self._file.seek(self._size)
                raise
        self._size += len(frame)
        self.position = position

    def sync(self) -> int:
        """Sync what was written to disk. Returns the position up to which the files are safe."""
        if self.synced < self.position:
            with explain_errors(self._folder):
                os.fsync(self._file.fileno())
            self.synced = self.position
        return self.synced

    def close(self) -> None:
        """Close the open segment."""
        self._file.close()

    def _next_segment(self) -> None:
        os.fsync(self._file.fileno())
        self.synced = self.position
        self._file.close()
        self._begin()
        self._prune()

    def _prune(self) -> None:
        """Remove the segments whose last change is too old."""
        segments = change_log.list_segments(self._folder)
        for segment, following in itertools.pairwise(segments):
            if following.after < _now() - self._kept:
                segment.path.unlink(missing_ok=True)


def _now() -> int:
    return time.time_ns() // 1000
