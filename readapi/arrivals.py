"""Large files on their way to us: each takes its room on the disk before it comes, for all processes to see.

A file is as long as what may still come, and locked by the process that receives it. So what is on its way
can be counted by every process, and of one that crashed nothing counts any more.
"""

import fcntl
import hashlib
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

RECEIVING = "receiving"  # the folder in the data folder
SPARE_BYTES = 1 << 30  # of the disk, which no file on its way to us may take
_BLOCK_BYTES = 512  # in which stat counts


class Held(NamedTuple):
    """What is on its way: of one account, of all, and the bytes that more may take."""

    files: int
    bytes: int
    files_of_all: int
    free_bytes: int


Check = Callable[[int, Held], None]  # raises when there is no room for so many bytes besides


@dataclass(slots=True)
class Arrival:
    """One file on its way, which is gone once it is closed, unless it was moved away."""

    path: Path
    file: BinaryIO
    whose: str
    reserved: int

    def close(self) -> None:
        """Give its room back."""
        self.path.unlink(missing_ok=True)
        self.file.close()


class Arrivals:
    """The folder of them. Its methods block for as long as another process counts."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / RECEIVING

    def begin(self, whose: str, size: int, check: Check) -> Arrival:
        """Room for a file of at most so many bytes. Raises what `check` raises."""
        with self._alone():
            check(size, self._held(whose))
            path = self._folder / f"{_name(whose)}-{secrets.token_hex(16)}"
            number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            arrival = Arrival(path, os.fdopen(number, "wb"), whose, size)
            try:
                fcntl.flock(number, fcntl.LOCK_EX)
                os.truncate(number, size)
            except BaseException:
                arrival.close()
                raise
            return arrival

    def grow(self, arrival: Arrival, size: int, check: Check) -> None:
        """Room for so many bytes in all. Raises what `check` raises."""
        with self._alone():
            check(size, self._held(arrival.whose, besides=arrival.path.name))
            os.truncate(arrival.file.fileno(), size)
            arrival.reserved = size

    def _held(self, whose: str, besides: str = "") -> Held:
        """What is on its way; what nobody receives any more is removed."""
        count, size, of_all, pending = 0, 0, 0, 0
        for path in self._folder.iterdir():
            if path.name == besides or (found := _on_its_way(path)) is None:
                continue
            of_all += 1
            pending += max(0, found.st_size - found.st_blocks * _BLOCK_BYTES)
            if path.name.startswith(_name(whose)):
                count, size = count + 1, size + found.st_size
        disk = os.statvfs(self._folder)
        return Held(count, size, of_all, disk.f_bavail * disk.f_frsize - pending - SPARE_BYTES)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process counts or makes room meanwhile."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder.with_suffix(".lock")
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(number, fcntl.LOCK_EX)
            yield
        finally:
            os.close(number)


def _on_its_way(path: Path) -> os.stat_result | None:
    """How long it is; None when nobody receives it."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.fstat(number)
    else:
        path.unlink(missing_ok=True)
        return None
    finally:
        os.close(number)


def _name(whose: str) -> str:
    return hashlib.sha256(whose.encode()).hexdigest()[:16]
