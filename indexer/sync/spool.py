"""Spools a large repo's CAR to disk, compares every block with its CID, and reads blocks back by CID.

Memory holds 16 bytes for a block: the beginning of its hash, and its position.
"""

import os
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import numpy as np

from indexer.network.http.client import OutboundError
from indexer.repo import car

MAX_BYTES: Final = 4 << 30  # of all spools at once
MAX_BLOCKS: Final = 4_000_000
_BUFFER_BYTES = 1 << 20
_LENGTH_BITS = 24  # of the 64 bits of a block's position
_LENGTH = (1 << _LENGTH_BITS) - 1


class SpoolFull(OutboundError):
    """The disk has no room at the moment."""

    transient = True


class Spools:
    """All spools in one folder, with at most `max_bytes` of disk together."""

    def __init__(self, folder: Path, max_bytes: int = MAX_BYTES) -> None:
        self.folder = folder
        self.free_bytes = max_bytes

    @contextmanager
    def open(self) -> Iterator["Spool"]:
        """Open a new spool. Raises NoRoom, as using the spool does."""
        try:
            with Spool(self) as spool:
                yield spool
        except OSError as error:
            raise SpoolFull(f"the disk fails ({error.strerror})") from error


class Spool:
    """Written once, then indexed, then read. Its file has no name, so even a kill leaves nothing of it."""

    def __init__(self, spools: Spools) -> None:
        spools.folder.mkdir(parents=True, exist_ok=True)
        self._spools = spools
        self._size = 0
        self._file = tempfile.TemporaryFile(  # noqa: SIM115 - ours to close
            dir=spools.folder, buffering=_BUFFER_BYTES
        )
        self._hashes = array("Q")
        self._places = array("Q")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._spools.free_bytes += self._size
        self._file.close()

    def write(self, piece: bytes) -> None:
        """Append received bytes."""
        if len(piece) > self._spools.free_bytes:
            raise SpoolFull("too much is spooled already")
        self._spools.free_bytes -= len(piece)
        self._size += len(piece)
        self._file.write(piece)

    def index(self, max_blocks: int = MAX_BLOCKS) -> tuple[bytes, ...]:
        """Compare every block with its CID, and note its position. Returns the roots. Raises CarError."""
        self._file.seek(0)
        roots = car.roots_in(self._file)
        hashes, places = array("Q"), array("Q")
        for section in car.sections_in(self._file, max_blocks):
            hashes.append(_hash(section))
            places.append(self._file.tell() - len(section) << _LENGTH_BITS | len(section))
        order = np.argsort(np.frombuffer(hashes, np.uint64), kind="stable")
        for numbers in (hashes, places):
            view = np.frombuffer(numbers, np.uint64)
            view[:] = view[order]
        self._hashes, self._places = hashes, places
        return roots

    def get(self, cid: bytes) -> bytes | None:
        """The block of this CID; None when the CAR does not have it."""
        wanted = _hash(cid)
        at = bisect_left(self._hashes, wanted)
        # Two hashes can have the same beginning.
        while at < len(self._hashes) and self._hashes[at] == wanted:
            place = self._places[at]
            section = os.pread(self._file.fileno(), place & _LENGTH, place >> _LENGTH_BITS)
            if section.startswith(cid):
                return section[car.CID_BYTES :]
            at += 1
        return None


def _hash(cid: bytes) -> int:
    return int.from_bytes(cid[4:12], "big")
