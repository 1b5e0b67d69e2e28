"""Recordings: a Recorder writes frames to a file, and Recorded reads the file as a source.

The file is a header line, a line with the source's name, and then for each frame 8 bytes with the time it was
received, in microseconds since 1970, 4 bytes with its length (both big-endian), and its bytes. A truncated
file is readable up to the last whole frame.
"""

import asyncio
import contextlib
import struct
import time
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Self

import structlog

from indexer.events import Frame, Info, StreamError
from indexer.stream import Source, Status, dialects
from indexer.stream.prefilter import Prefilter

MAGIC = b"fmsvc frames 1\n"
MAX_NAME_BYTES = 1_024
MAX_FRAME_BYTES = 64 << 20
FLUSH_SECONDS = 1.0

_HEAD = struct.Struct(">QI")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MAX_MICROSECONDS = 253_402_300_799_000_000  # the end of the year 9999

log = structlog.get_logger()


class RecordingError(Exception):
    """The file is no recording, or one of another source; the message is a sentence for the operator."""


class Recorder:
    """Appends one source's frames to a new or existing file."""

    def __init__(self, path: Path, source: str) -> None:
        self.source = source
        self._file = _open_to_append(path, source)

    def write(self, frame: Frame) -> None:
        microseconds = (frame.received_at - _EPOCH) // _MICROSECOND
        self._file.write(_HEAD.pack(microseconds, len(frame.raw)) + frame.raw)

    def flush(self) -> None:
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


class Recorded:
    """A recording as a source: every frame of the file, then the end."""

    def __init__(self, path: Path) -> None:
        self.status = Status()
        self.finished: Callable[[], int | None] = lambda: None
        self.prefilter: Prefilter | None = None  # unused: each frame is read by itself
        self._path = path
        with path.open("rb") as file:
            self.name = _read_header(file, path)
        self.decode = dialects.decoder_of(self.name)

    async def frames(self, after: int | None) -> AsyncGenerator[Frame, None]:
        """Yield every frame of the file, including those up to `after`: repeating them is harmless."""
        with self._path.open("rb") as file:
            _read_header(file, self._path)
            self.status.connected = True
            while (frame := _read_frame(file, self._path, self.name)) is not None:
                self.status.frames += 1
                self.status.bytes += len(frame.raw)
                self.status.last_frame_at = frame.received_at
                yield frame
                if self.status.frames % 256 == 0:
                    await asyncio.sleep(0)
        self.status.connected = False

    def cursor_at(self, instant: datetime) -> int | None:
        """None: a recording is read whole."""
        return None


async def record_frames(
    source: Source, path: Path, *, seconds: float | None = None, frames: int | None = None
) -> int:
    """Write a source's frames to a file until either limit. Returns the number of frames written."""
    written = 0
    newest: int | None = None
    source.finished = lambda: newest
    with Recorder(path, source.name) as recorder, contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds), contextlib.aclosing(source.frames(None)) as stream:
            flush_at = time.monotonic() + FLUSH_SECONDS
            async for frame in stream:
                recorder.write(frame)
                newest = _seq(source, frame) or newest
                written += 1
                if written == frames:
                    break
                if time.monotonic() > flush_at:
                    recorder.flush()
                    flush_at = time.monotonic() + FLUSH_SECONDS
    return written


def _seq(source: Source, frame: Frame) -> int | None:
    [event] = dialects.decode_safely(source.decode, frame, frozenset(), ())
    return None if isinstance(event, Info | StreamError) else event.seq


def _open_to_append(path: Path, source: str) -> BinaryIO:
    """Open the file, positioned after its last whole frame."""
    file = path.open("r+b" if path.exists() else "w+b")
    try:
        if path.stat().st_size == 0:
            file.write(MAGIC + source.encode() + b"\n")
            return file
        name = _read_header(file, path)
        if name != source:
            raise RecordingError(f"{path} is a recording of {name}, not of {source}.")
        end = file.tell()
        while _read_frame(file, path, name) is not None:
            end = file.tell()
        file.seek(end)
        file.truncate()
    except BaseException:
        file.close()
        raise
    return file


def _read_header(file: BinaryIO, path: Path) -> str:
    if file.read(len(MAGIC)) != MAGIC:
        raise RecordingError(f"{path} is not a recording of frames.")
    line = file.readline(MAX_NAME_BYTES)
    if not line.endswith(b"\n") or not line.isascii():
        raise RecordingError(f"{path} does not say which source it is a recording of.")
    return line[:-1].decode()


def _read_frame(file: BinaryIO, path: Path, source: str) -> Frame | None:
    """Read the next frame; None at the end of the file or at a truncated frame."""
    head = file.read(_HEAD.size)
    if not head:
        return None
    at = file.tell()
    if len(head) == _HEAD.size:
        microseconds, length = _HEAD.unpack(head)
        raw = file.read(length) if length <= MAX_FRAME_BYTES else b""
        if len(raw) == length and microseconds <= _MAX_MICROSECONDS:
            return Frame(source, raw, _EPOCH + microseconds * _MICROSECOND)
    log.warning("recording cut short", path=str(path), at_byte=at - len(head))
    return None
