"""Brings snapshots, series, exports and the change log of one indexer to the state of a CopySet.

A file is put together from blocks that other versions of it have here, and from those fetched; each block is
compared with its hash before the file gets its name. The log's segments grow in place, since workers have
them open.
"""

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from indexer.catalog.published.files import is_read, point, sync
from indexer.replication import lists
from indexer.replication.at_once import AtOnce
from indexer.replication.blocks import BLOCK_BYTES, BlockList, DamagedBlock, hash_block, unpack
from indexer.replication.follow.search_replica import PARTIAL, Outdated
from indexer.replication.manifest import CopySet
from indexer.replication.objects import Objects, ObjectsAway
from schemas import data_folder

DOWNLOADS: Final = 8  # at once

_FOLDERS: Final = (data_folder.SNAPSHOTS, data_folder.EXPORTS, data_folder.CHANGES)


class _Place(NamedTuple):
    path: Path
    offset: int


class CopyReplica:
    """These files in one folder. `key`: of the CopySet that is shown."""

    def __init__(self, objects: Objects, folder: Path, node: str) -> None:
        self.key: str | None = None
        self.fetched_bytes = 0
        self._objects = objects
        self._folder = folder
        self._node = node
        self._held: dict[str, tuple[str, BlockList]] = {}  # by path: the list's key, and the list
        self._before: frozenset[str] = frozenset()

    async def show(self, key: str) -> None:
        """Show the files of this CopySet. Raises ObjectsAway, Outdated, or OSError."""
        copies = await lists.load(self._objects, key, CopySet)
        if copies is None:
            raise Outdated(key)
        if self.key is None:
            await asyncio.to_thread(self._survey)
        for path, of in copies.files.items():
            if path not in self._held or self._held[path][0] != of:
                await self._bring(path, of)
        for link, path in copies.links.items():
            await asyncio.to_thread(self._point, link, path)
        wanted = frozenset(copies.files)
        await asyncio.to_thread(self._remove_all_but, wanted | self._before)
        self._held = {path: held for path, held in self._held.items() if path in wanted}
        self._before, self.key = wanted, key

    def _survey(self) -> None:
        """After a restart: note the blocks of the databases that are here, since new versions share them."""
        for path in (self._folder / data_folder.SNAPSHOTS).glob("*.duckdb"):
            self._held[path.relative_to(self._folder).as_posix()] = "", _list_blocks(path)

    async def _bring(self, path: str, key: str) -> None:
        wanted = await lists.load(self._objects, key, BlockList)
        if wanted is None:
            raise Outdated(key)
        target = self._folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not await asyncio.to_thread(_is_whole, target, wanted):
            is_log = path.startswith(f"{data_folder.CHANGES}/")
            if not (is_log and await self._grow(target, wanted)):
                await self._assemble(target, wanted)
        self._held[path] = key, wanted

    async def _assemble(self, target: Path, wanted: BlockList) -> None:
        """Write a file from its blocks, under another name until it is whole and on disk."""
        here = self._places(wanted)
        partial = target.with_name(f"{target.name}{PARTIAL}")
        descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            async with AtOnce(DOWNLOADS) as writing:
                for block, offset, length in wanted.spans():
                    await writing.start(self._write(descriptor, block, offset, length, here.get(block)))
        finally:
            os.close(descriptor)
        await asyncio.to_thread(_name, partial, target, wanted.modified_ns)

    async def _write(
        self, descriptor: int, block: str, offset: int, length: int, place: _Place | None
    ) -> None:
        content = None if place is None else await asyncio.to_thread(_read, place, block, length)
        if content is None:
            content = await self._fetch(block, length)
        await asyncio.to_thread(os.pwrite, descriptor, content, offset)

    async def _grow(self, target: Path, wanted: BlockList) -> bool:
        """Append the new part to a log segment. False: the local file is not a prefix of the wanted one."""
        size = target.stat().st_size if target.exists() else 0
        if size > wanted.size:
            return False
        first = size // BLOCK_BYTES
        for block, offset, length in list(wanted.spans())[first:]:
            content = await self._fetch(block, length)
            if not await asyncio.to_thread(_continue, target, content, offset):
                return False
        return True

    async def _fetch(self, block: str, length: int) -> bytes:
        found = await self._objects.find(lists.block_key(self._node, block))
        if found is None:
            raise Outdated(block)
        self.fetched_bytes += len(found.content)
        try:
            return await asyncio.to_thread(unpack, found.content, block, length)
        except DamagedBlock as error:
            raise ObjectsAway(f"block {block} arrived damaged") from error

    def _places(self, wanted: BlockList) -> Mapping[str, _Place]:
        """Where local files already hold blocks of the wanted file."""
        needed = set(wanted.blocks)
        return {
            block: _Place(self._folder / path, offset)
            for path, (_, held) in self._held.items()
            for block, offset, _ in held.spans()
            if block in needed
        }

    def _point(self, link: str, path: str) -> None:
        target = self._folder / path
        if not (self._folder / link).is_symlink() or os.readlink(self._folder / link) != target.name:
            point(self._folder / link, target)

    def _remove_all_but(self, kept: frozenset[str]) -> None:
        for name in _FOLDERS:
            for path in (self._folder / name).rglob("*"):
                relative = path.relative_to(self._folder).as_posix()
                if path.is_symlink() or not path.is_file() or relative in kept or ".tmp" in relative:
                    continue
                if path.suffix != ".duckdb" or not is_read(path):
                    path.unlink()
        for folder in (self._folder / data_folder.EXPORTS).glob("*/"):
            with suppress(OSError):  # it has files
                folder.rmdir()


def _read(place: _Place, block: str, length: int) -> bytes | None:
    """A block read from a local file; None when its content has changed or cannot be read."""
    try:
        with place.path.open("rb") as file:
            content = os.pread(file.fileno(), length, place.offset)
    except OSError:
        return None
    return content if len(content) == length and hash_block(content) == block else None


def _list_blocks(path: Path) -> BlockList:
    with path.open("rb") as file:
        blocks = [hash_block(block) for block in iter(lambda: file.read(BLOCK_BYTES), b"")]
        found = os.fstat(file.fileno())
    return BlockList(size=found.st_size, modified_ns=found.st_mtime_ns, blocks=blocks)


def _is_whole(path: Path, wanted: BlockList) -> bool:
    """Whether a file from before a restart is this one."""
    if not path.is_file() or path.stat().st_size != wanted.size:
        return False
    return all(_read(_Place(path, at), block, length) is not None for block, at, length in wanted.spans())


def _continue(path: Path, block: bytes, offset: int) -> bool:
    """Append the rest of a block whose beginning is at the end of a file."""
    with path.open("a+b") as file:
        known = os.pread(file.fileno(), len(block), offset)
        if not block.startswith(known):
            return False
        file.write(block[len(known) :])
    return True


def _name(partial: Path, target: Path, modified_ns: int) -> None:
    os.utime(partial, ns=(modified_ns, modified_ns))
    sync(partial)
    partial.replace(target)
