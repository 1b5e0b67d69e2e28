"""Brings the search indexes of one indexer to the state of a manifest. The order makes every crash harmless.

New files are fetched under other names, then renamed: segments first, then what names them, the catalog's
last. Files of the previous state are kept one round longer, for workers that still open them.
"""

import asyncio
import os
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from indexer.replication.manifest import SEARCH_FOLDERS, Manifest, Stored, shown_last, stored_of
from indexer.replication.objects import PART_BYTES, Objects, ObjectsAway

PARTIAL: Final = ".partial"
AT_ONCE_BYTES: Final = 32 << 20  # of one bundle, fetched together

Rename = Callable[[Path, Path], None]


class Outdated(Exception):
    """An object that the manifest names was deleted: a newer manifest exists."""


class SearchReplica:
    """The search indexes in one folder."""

    def __init__(self, objects: Objects, folder: Path, rename: Rename = os.replace) -> None:
        self.fetched_bytes = 0
        self._objects = objects
        self._folder = folder
        self._rename = rename
        self._held: dict[str, Stored] = {}  # what is known to be on disk, and whole

    async def show(self, manifest: Manifest) -> None:
        """Fetch what is missing, and show this state. Raises ObjectsAway, Outdated, or OSError."""
        wanted = stored_of(manifest)
        await asyncio.to_thread(self._prepare, wanted)
        missing = {path: file for path, file in wanted.items() if not _is_same(self._held.get(path), file)}
        by_bundle: dict[str, list[str]] = defaultdict(list)
        for path in sorted(missing, key=lambda path: missing[path].offset):
            by_bundle[missing[path].bundle].append(path)
        for bundle, paths in by_bundle.items():
            await self._fetch(bundle, {path: missing[path] for path in paths})
        await asyncio.to_thread(self._put_in_place, missing)
        await asyncio.to_thread(self._remove_all_but, wanted.keys() | self._held.keys())
        self._held = wanted

    def _prepare(self, wanted: Mapping[str, Stored]) -> None:
        """Make the folders, and find out at the start which files are there from before, and whole."""
        for name in SEARCH_FOLDERS:
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        if not self._held:
            self._held = {path: file for path, file in wanted.items() if _is_whole(self._folder / path, file)}

    async def _fetch(self, bundle: str, files: Mapping[str, Stored]) -> None:
        """Fetch files of a bundle under other names: small ones together, large ones in parts."""
        together: dict[str, Stored] = {}
        for path, file in files.items():
            if file.size > PART_BYTES:
                await self._fetch_in_parts(path, file)
                continue
            if sum(one.size for one in together.values()) + file.size > AT_ONCE_BYTES:
                await self._fetch_together(bundle, together)
                together = {}
            together[path] = file
        if together:
            await self._fetch_together(bundle, together)

    async def _fetch_together(self, bundle: str, files: Mapping[str, Stored]) -> None:
        filled = {path: file for path, file in files.items() if file.size}
        parts = await self._ranges(bundle, [(file.offset, file.size) for file in filled.values()])
        contents = dict.fromkeys(files, b"") | dict(zip(filled, parts, strict=True))
        await asyncio.to_thread(self._write_all, files, contents)

    async def _fetch_in_parts(self, path: str, file: Stored) -> None:
        partial, check = self._partial(path), 0
        partial.unlink(missing_ok=True)
        for at in range(0, file.size, PART_BYTES):
            span = file.offset + at, min(PART_BYTES, file.size - at)
            [content] = await self._ranges(file.bundle, [span])
            check = await asyncio.to_thread(_append, partial, content, check)
        _require(path, check == file.check and partial.stat().st_size == file.size)

    async def _ranges(self, bundle: str, spans: list[tuple[int, int]]) -> list[bytes]:
        if not spans:
            return []
        try:
            parts = await self._objects.ranges(bundle, spans)
        except KeyError as error:
            raise Outdated(bundle) from error
        self.fetched_bytes += sum(map(len, parts))
        return parts

    def _write_all(self, files: Mapping[str, Stored], contents: Mapping[str, bytes]) -> None:
        for path, file in files.items():
            content = contents[path]
            _require(path, len(content) == file.size and zlib.crc32(content) == file.check)
            self._partial(path).write_bytes(content)

    def _put_in_place(self, paths: Iterable[str]) -> None:
        for path in sorted(paths, key=shown_last):
            self._rename(self._partial(path), self._folder / path)

    def _remove_all_but(self, kept: Iterable[str]) -> None:
        for name in SEARCH_FOLDERS:
            ours = {path.rpartition("/")[2] for path in kept if path.startswith(f"{name}/")}
            for path in (self._folder / name).iterdir():
                if path.name not in ours and not path.name.startswith("."):  # which are Tantivy's locks
                    path.unlink(missing_ok=True)

    def _partial(self, path: str) -> Path:
        return self._folder / f"{path}{PARTIAL}"


def _is_same(held: Stored | None, wanted: Stored) -> bool:
    """Files are the same by their name and content, wherever they are stored."""
    return held is not None and (held.size, held.check) == (wanted.size, wanted.check)


def _is_whole(path: Path, file: Stored) -> bool:
    try:
        with path.open("rb") as content:
            check = 0
            while piece := content.read(PART_BYTES):
                check = zlib.crc32(piece, check)
            return content.tell() == file.size and check == file.check
    except OSError:
        return False


def _append(path: Path, content: bytes, check: int) -> int:
    with path.open("ab") as file:
        file.write(content)
    return zlib.crc32(content, check)


def _require(path: str, is_whole: bool) -> None:
    if not is_whole:
        raise ObjectsAway(f"{path} arrived damaged")
