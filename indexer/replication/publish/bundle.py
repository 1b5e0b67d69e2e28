"""New files of the search indexes -> one object, and where each of them is in it."""

import asyncio
import os
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final

from indexer.replication.manifest import Stored
from indexer.replication.objects import PART_BYTES, Objects
from indexer.replication.publish.search_files import Opened

PIECE_BYTES: Final = 1 << 20  # read at a time


async def put_bundle(objects: Objects, key: str, opened: Sequence[Opened]) -> dict[str, Stored]:
    """Write the files into an object. Returns where each is. Raises ObjectsAway, or OSError."""
    stored: dict[str, Stored] = {}
    pieces = _pieces(key, opened, stored)
    if sum(file.size for file in opened) <= PART_BYTES:
        await objects.put(key, await asyncio.to_thread(lambda: b"".join(pieces)))
    else:
        await objects.put(key, _on_thread(pieces))
    return stored


def _pieces(key: str, opened: Sequence[Opened], stored: dict[str, Stored]) -> Iterator[bytes]:
    """The bytes of all files; notes each in `stored` at its end."""
    offset = 0
    for file in opened:
        check = size = 0
        for piece in _read(file):
            check, size = zlib.crc32(piece, check), size + len(piece)
            yield piece
        stored[file.path] = Stored(key, offset, size, check)
        offset += size


def _read(file: Opened) -> Iterator[bytes]:
    if file.content is not None:
        yield file.content
        return
    at = 0
    while piece := os.pread(file.descriptor, PIECE_BYTES, at):
        at += len(piece)
        yield piece


async def _on_thread(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(next, pieces, b""):
        yield piece
