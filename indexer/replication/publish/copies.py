"""Publishes snapshots, series, exports and the change log: uploads the blocks that the store lacks.

Works beside the search indexes, which never wait for it. Blocks and lists are named by their hashes, so that
what was sent before a failure or a crash is found again.
"""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import orjson
from prometheus_client import Counter
from pydantic import BaseModel

from indexer.replication import lists
from indexer.replication.at_once import AtOnce
from indexer.replication.blocks import BLOCK_BYTES, BlockList, hash_block, is_whole, pack
from indexer.replication.manifest import CopySet
from indexer.replication.objects import Objects
from schemas import change_log, data_folder

UPLOADS: Final = 8  # at once
LINKS: Final = (data_folder.NEWEST_SNAPSHOT, data_folder.NEWEST_SERIES, data_folder.NEWEST_PUBLISHED)

BYTES = Counter("fmsvc_published_bytes", "Bytes sent to the object store for other machines.", ["what"])

Stamp = tuple[int, int, int]


class CopiedFile(NamedTuple):
    """A file, its path in a follower's data folder, and the link that leads to it there."""

    source: Path
    path: str
    link: str | None = None


class Copies:
    """What one indexer has published of these files.

    `key` is that of the newest CopySet; `needed` has the keys of all objects that it consists of; `sent` has
    those of blocks that were sent for the next one, whose files are not all sent yet. What an earlier process
    sent is looked for at the first step, and sent anew where it is not whole.
    """

    def __init__(self, objects: Objects, data_dir: Path, node: str) -> None:
        self.key: str | None = None
        self.needed: frozenset[str] = frozenset()
        self.sent: set[str] = set()
        self._objects = objects
        self._data_dir = data_dir
        self._node = node
        self._is_looked_for = False
        self._lists: dict[str, tuple[Stamp | None, str, BlockList]] = {}  # by path: of which file, key, list

    async def resume(self, key: str | None) -> None:
        """Go on from the CopySet of an earlier process. Raises ObjectsAway."""
        if key is None or (copies := await lists.load(self._objects, key, CopySet)) is None:
            return
        for path, of in copies.files.items():
            if (found := await lists.load(self._objects, of, BlockList)) is not None:
                self._lists[path] = None, of, found
        self.key, self.needed = key, self._needed(key)

    async def step(self) -> None:
        """Publish the changed files, then the CopySet that lists all. Raises ObjectsAway, or OSError.

        Nothing is listed when one of them was replaced meanwhile: it may name files that were not looked at.
        """
        stamps = await asyncio.to_thread(self._look)
        if {file.path: stamp for file, stamp in stamps.items()} == {
            path: stamp for path, (stamp, *_) in self._lists.items()
        }:
            return
        if not self._is_looked_for:
            self.sent |= await self._whole_blocks()
            self._is_looked_for = True
        held = {block for stamp, _, one in self._lists.values() if stamp is not None for block in one.blocks}
        held |= {key.rpartition("/")[2] for key in self.sent}
        known = dict(self._lists)
        for file, stamp in stamps.items():
            if file.path not in known or known[file.path][0] != stamp:
                if (sent := await self._send(file.source, stamp, held)) is None:
                    return
                known[file.path] = stamp, await self._put_list(sent), sent
        self._lists = {file.path: known[file.path] for file in stamps}
        files = {path: key for path, (_, key, _) in self._lists.items()}
        links = {file.link: file.path for file in stamps if file.link}
        if files:
            key = await self._put_list(CopySet(files=files, links=links))
            self.key, self.needed = key, await asyncio.to_thread(self._needed, key)
            self.sent = set()

    async def _whole_blocks(self) -> set[str]:
        """The keys of blocks in the store that can be used."""
        listed = {one.key for one in await self._objects.keys(self._block("")) if one.size}
        if not self._objects.may_tear:
            return listed
        whole: set[str] = set()
        for key in listed:
            found = await self._objects.find(key)
            name = key.rpartition("/")[2]
            if found is not None and await asyncio.to_thread(is_whole, found.content, name):
                whole.add(key)
        return whole

    def _look(self) -> dict[CopiedFile, Stamp]:
        """The files to publish, as they are now, in the order in which they are shown."""
        return {file: _stamp(file.source) for file in wanted_files(self._data_dir, self._node)}

    def _needed(self, key: str) -> frozenset[str]:
        lists_of_blocks = self._lists.values()
        blocks = {self._block(block) for *_, one in lists_of_blocks for block in one.blocks}
        return frozenset(blocks | {key} | {one for _, one, _ in lists_of_blocks})

    async def _send(self, source: Path, stamp: Stamp, held: set[str]) -> BlockList | None:
        """Send the blocks of a file that are not in `held`, and note them there. None: it was replaced."""
        hashes: list[str] = []
        descriptor = os.open(source, os.O_RDONLY)  # so that it stays readable when it is removed
        try:
            found = os.fstat(descriptor)
            if found.st_ino != stamp[0]:
                return None
            async with AtOnce(UPLOADS) as sending:
                for at in range(0, found.st_size, BLOCK_BYTES):
                    length = min(BLOCK_BYTES, found.st_size - at)
                    block, packed = await asyncio.to_thread(_cut, descriptor, at, length, held)
                    hashes.append(block)
                    if packed is not None:
                        held.add(block)
                        await sending.start(self._put_block(self._block(block), packed))
        finally:
            os.close(descriptor)
        return BlockList(size=found.st_size, modified_ns=found.st_mtime_ns, blocks=hashes)

    async def _put_list(self, content: BaseModel) -> str:
        key, packed = lists.named(self._node, content)
        if key != self.key:
            await self._put(key, packed, "lists")
        return key

    async def _put_block(self, key: str, packed: bytes) -> None:
        await self._put(key, packed, "blocks")
        self.sent.add(key)

    async def _put(self, key: str, content: bytes, what: str) -> None:
        await self._objects.put(key, content)
        BYTES.labels(what).inc(len(content))

    def _block(self, block: str) -> str:
        return lists.block_key(self._node, block)


def wanted_files(data_dir: Path, node: str) -> Iterator[CopiedFile]:
    """The files to publish now, in the order in which they are shown: what names others comes after them.

    Snapshots of several indexers may have the same number, so their names have the node's too.
    """
    for segment in change_log.list_segments(data_dir / data_folder.CHANGES):
        yield CopiedFile(segment.path, f"{data_folder.CHANGES}/{segment.path.name}")
    for link in LINKS:
        target = (data_dir / link).resolve()
        if target.is_file():
            yield CopiedFile(target, f"{data_folder.SNAPSHOTS}/{target.stem}-{node}{target.suffix}", link)
    manifest = data_dir / data_folder.EXPORT_MANIFEST
    if manifest.exists():
        exports = orjson.loads(manifest.read_bytes())["exports"]
        paths = {file["path"] for export in exports for file in export["files"]}
        for path in sorted(paths):
            if (source := manifest.parent / path).is_file():
                yield CopiedFile(source, f"{data_folder.EXPORTS}/{path}")
        yield CopiedFile(manifest, data_folder.EXPORT_MANIFEST)


def _cut(descriptor: int, at: int, length: int, held: set[str]) -> tuple[str, bytes | None]:
    """The hash of a block, and the block to send unless it is held."""
    content = os.pread(descriptor, length, at)
    if len(content) != length:
        raise OSError(f"A file that is published became shorter than {at + length} bytes.")
    block = hash_block(content)
    return block, None if block in held else pack(content)


def _stamp(path: Path) -> Stamp:
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size
