"""The files of the committed states of the search indexes, opened so that none of them can vanish."""

import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import orjson

from indexer.replication.manifest import META, SEARCH_FOLDERS, Stored
from schemas.search_index import VERSION_FILE

ATTEMPTS: Final = 5  # a merge may replace segments between a look at what names them and a look at them

Stamp = tuple[tuple[int, int, int], ...]


class SearchFile(NamedTuple):
    """A file by its path in the data folder. `content`: of a short one that is replaced under its name."""

    path: str
    content: bytes | None = None


class Opened(NamedTuple):
    """A file to publish: its content, or a descriptor to read it from."""

    path: str
    size: int
    content: bytes | None
    descriptor: int


def look(data_dir: Path) -> Stamp | None:
    """A stamp that changes with each commit or merge; None while an index is missing. Costs three stats."""
    try:
        found = [(data_dir / folder / META).stat() for folder in SEARCH_FOLDERS]
    except OSError:
        return None
    return tuple((one.st_ino, one.st_mtime_ns, one.st_size) for one in found)


@contextmanager
def committed(
    data_dir: Path, published: Mapping[str, Stored]
) -> Iterator[tuple[list[SearchFile], list[Opened]]]:
    """All files of the committed states, and those of them that are not published yet, opened for the block.

    Reads the catalog index first: it is committed last, so the other indexes already have what it refers to.
    Raises OSError when the files keep vanishing.
    """
    opened: list[Opened] = []
    try:
        for attempt in range(ATTEMPTS):
            try:
                files = [file for name in reversed(SEARCH_FOLDERS) for file in _files(data_dir, name)]
                opened.extend(_open(data_dir, file) for file in files if not _is_in(published, file))
                _require_unchanged(data_dir, files)
                break
            except FileNotFoundError:
                _close(opened)
                if attempt + 1 == ATTEMPTS:
                    raise
        yield files, opened
    finally:
        _close(opened)


def _files(data_dir: Path, folder: str) -> Iterator[SearchFile]:
    meta = (data_dir / folder / META).read_bytes()
    names = sorted(os.listdir(data_dir / folder))
    yield SearchFile(f"{folder}/{VERSION_FILE}", (data_dir / folder / VERSION_FILE).read_bytes())
    for segment in orjson.loads(meta)["segments"]:
        stem, deletes = segment["segment_id"].replace("-", ""), segment["deletes"]
        of_it = [name for name in names if name.startswith(stem) and _is_meant(name, deletes)]
        if f"{stem}.store" not in of_it or (deletes and _deletes_name(stem, deletes) not in of_it):
            raise FileNotFoundError(f"{folder}/{stem}")
        yield from (SearchFile(f"{folder}/{name}") for name in of_it)
    yield SearchFile(f"{folder}/{META}", meta)


def _require_unchanged(data_dir: Path, files: list[SearchFile]) -> None:
    """Raise FileNotFoundError if another state was committed since.

    Then files of the earlier state may have been removed before its folder was listed.
    """
    for file in files:
        if file.path.endswith(f"/{META}") and (data_dir / file.path).read_bytes() != file.content:
            raise FileNotFoundError(file.path)


def _is_in(published: Mapping[str, Stored], file: SearchFile) -> bool:
    """Whether the file is published. Files without `content` belong to a segment and never change."""
    known = published.get(file.path)
    return known is not None and (file.content is None or known.check == zlib.crc32(file.content))


def _is_meant(name: str, deletes: dict[str, int] | None) -> bool:
    """Whether a segment's file belongs to this state.

    Of deletion files, only the one that `meta.json` names does.
    """
    stem, _, ending = name.partition(".")
    if ending.endswith("del"):
        return deletes is not None and name == _deletes_name(stem, deletes)
    return not ending.endswith("temp")


def _deletes_name(stem: str, deletes: dict[str, int]) -> str:
    return f"{stem}.{deletes['opstamp']}.del"


def _open(data_dir: Path, file: SearchFile) -> Opened:
    if file.content is not None:
        return Opened(file.path, len(file.content), file.content, -1)
    descriptor = os.open(data_dir / file.path, os.O_RDONLY)
    return Opened(file.path, os.fstat(descriptor).st_size, None, descriptor)


def _close(opened: list[Opened]) -> None:
    for file in opened:
        if file.descriptor >= 0:
            os.close(file.descriptor)
    opened.clear()
