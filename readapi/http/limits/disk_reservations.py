"""Disk reservations of large files being received: made before the first byte, visible to all processes.

A reservation is a sparse file of the expected length, locked by the process that receives it. So every
process can add up the reservations, and those of a crashed process count no more.
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

RECEIVING = "receiving"  # the folder of the reservations, in the data folder
SPARE_BYTES = 1 << 30  # of the disk, which reservations leave free
_BLOCK_BYTES = 512  # in which stat counts


class ReservedBytes(NamedTuple):
    """The files being received: of one account, of all, and the bytes still free for more."""

    files: int
    bytes: int
    files_of_all: int
    free_bytes: int


Check = Callable[[int, ReservedBytes], None]  # raises when so many more bytes do not fit


@dataclass(slots=True)
class Reservation:
    """One file being received. Closing it deletes the file, unless it was moved away."""

    path: Path
    file: BinaryIO
    account: str
    reserved: int

    def close(self) -> None:
        """Release the reservation."""
        self.path.unlink(missing_ok=True)
        self.file.close()


class DiskReservations:
    """The folder of reservations. Methods block while another process counts."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / RECEIVING

    def begin(self, account: str, size: int, check: Check) -> Reservation:
        """Reserve space for a file of at most `size` bytes. Raises what `check` raises."""
        with self._alone():
            check(size, self._held(account))
            path = self._folder / f"{_name(account)}-{secrets.token_hex(16)}"
            number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            reservation = Reservation(path, os.fdopen(number, "wb"), account, size)
            try:
                fcntl.flock(number, fcntl.LOCK_EX)
                os.truncate(number, size)
            except BaseException:
                reservation.close()
                raise
            return reservation

    def grow(self, reservation: Reservation, size: int, check: Check) -> None:
        """Enlarge a reservation to `size` bytes in total. Raises what `check` raises."""
        with self._alone():
            check(size, self._held(reservation.account, besides=reservation.path.name))
            os.truncate(reservation.file.fileno(), size)
            reservation.reserved = size

    def _held(self, account: str, besides: str = "") -> ReservedBytes:
        """Add up the reservations, and remove those whose process has ended."""
        count, size, of_all, pending = 0, 0, 0, 0
        for path in self._folder.iterdir():
            if path.name == besides or (found := _stat_if_receiving(path)) is None:
                continue
            of_all += 1
            pending += max(0, found.st_size - found.st_blocks * _BLOCK_BYTES)
            if path.name.startswith(_name(account)):
                count, size = count + 1, size + found.st_size
        disk = os.statvfs(self._folder)
        return ReservedBytes(count, size, of_all, disk.f_bavail * disk.f_frsize - pending - SPARE_BYTES)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock of the folder: no other process counts or reserves meanwhile."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder.with_suffix(".lock")
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(number, fcntl.LOCK_EX)
            yield
        finally:
            os.close(number)


def _stat_if_receiving(path: Path) -> os.stat_result | None:
    """The file's stat; None when no process is receiving it."""
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


def _name(account: str) -> str:
    return hashlib.sha256(account.encode()).hexdigest()[:16]
