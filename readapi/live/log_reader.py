"""Reads the change log from a position on, as far as it is written."""

import os
from pathlib import Path
from typing import BinaryIO, Final

from schemas import change_log
from schemas.change_log import HEADER, Change, Segment

PIECE_BYTES: Final = 256 << 10


class LogReader:
    """One reader's place in the log. `position`: everything up to it was read. Calls block, but briefly.

    `piece_bytes`: how much is read at a time, unless one frame is longer.
    """

    def __init__(self, folder: Path, position: int, piece_bytes: int = PIECE_BYTES) -> None:
        self.position = position
        self._piece_bytes = piece_bytes
        self._folder = folder
        self._segment: Segment | None = None
        self._file: BinaryIO | None = None
        self._offset = 0
        self._last = position  # of the open segment: the one that follows it is named so

    @classmethod
    def at_end(cls, folder: Path) -> "LogReader":
        """A reader that has read everything."""
        segments = change_log.list_segments(folder)
        reader = cls(folder, segments[-1].after if segments else 0)
        while reader.skip():
            pass
        return reader

    def read(self) -> list[Change]:
        """The next changes, in whole transactions; none at the end of what is written."""
        piece = self._next_piece()
        changes = list(change_log.read_changes(piece, self.position))
        self._passed(piece)
        return changes if changes or not piece else self.read()

    def skip(self) -> bool:
        """Pass the next changes without reading them. False at the end of what is written."""
        piece = self._next_piece()
        self._passed(piece)
        return bool(piece)

    def close(self) -> None:
        """Close the segment."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _next_piece(self) -> bytes:
        """Whole frames that follow; empty at the end."""
        while True:
            if self._file is not None and (piece := self._whole_frames(self._piece_bytes)):
                return piece
            if not self._open_next():
                return b""

    def _whole_frames(self, size: int) -> bytes:
        assert self._file is not None
        piece = os.pread(self._file.fileno(), size, self._offset)
        last, whole = self._last, 0
        for last, _, whole in change_log.frame_ends(piece):  # noqa: B007
            pass
        if not whole and len(piece) == size and size >= HEADER.size:
            needed = HEADER.size + HEADER.unpack_from(piece)[1]
            return self._whole_frames(needed) if needed > size else b""
        self._last = last
        return piece[:whole]

    def _passed(self, piece: bytes) -> None:
        self._offset += len(piece)
        self.position = max(self.position, self._last)

    def _open_next(self) -> bool:
        """Open the segment that follows, or the first that may hold what comes next. False: none."""
        # Not `position`, which may be of another indexer's log, and later than all of this one.
        current, following = self._segment, change_log.segment_path(self._folder, self._last)
        if current is not None and not following.exists() and current.path.exists():
            return False  # it still grows
        if current is not None and not current.path.exists():
            current = None  # the folder has another indexer's log, or it was pruned
        segments = change_log.list_segments(self._folder)
        later = [segment for segment in segments if current is None or segment.after > current.after]
        if not later:
            return False
        begun = [segment for segment in later if segment.after <= self.position]
        chosen = begun[-1] if begun else later[0]
        try:
            file = chosen.path.open("rb")
        except FileNotFoundError:  # it was pruned just now
            return self._open_next()
        self.close()
        self._segment, self._file, self._offset, self._last = chosen, file, 0, chosen.after
        return True


def oldest_position(folder: Path) -> int:
    """The position from which on the log is whole."""
    segments = change_log.list_segments(folder)
    return segments[0].after if segments else 0
