"""Files that other processes read: named once they are complete, removed once no process reads them."""

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from indexer.catalog.store_errors import explain_errors


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Write a file under a temporary name; it gets its own when it is complete and synced to disk."""
    partial = target.with_name(f"{target.name}.partial")
    with explain_errors(target):
        try:
            yield partial
            sync(partial)
            partial.replace(target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def point(link: Path, target: Path) -> None:
    """Let a symbolic link lead to this file in its folder, in one step."""
    partial = link.with_name(f"{link.name}.partial")
    partial.unlink(missing_ok=True)
    partial.symlink_to(target.name)
    partial.replace(link)
    sync(link.parent)


def quoted(path: Path) -> str:
    """A path between the quotes of a statement of SQL."""
    return str(path).replace("'", "''")


def sync(path: Path) -> None:
    """Write a file, or the names in a folder, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def number_of(path: Path) -> int:
    """The N of a file `name-N.duckdb`; 0 of any other."""
    found = re.fullmatch(r"[a-z]+-(\d+)\.duckdb", path.name)
    return int(found[1]) if found else 0


def numbered(folder: Path, name: str) -> list[Path]:
    """The files `name-N.duckdb` of a folder, by N."""
    return sorted(filter(number_of, folder.glob(f"{name}-*.duckdb")), key=number_of)


def prune(folder: Path, name: str, kept: Path | None = None) -> None:
    """Remove those that no other process has open, but for the newest two, which may be opened soon.

    `kept`: one that this process itself reads, which its locks do not show.
    """
    for path in numbered(folder, name)[:-2]:
        if (kept is None or path.name != kept.name) and not is_read(path):
            path.unlink()
            for left in folder.glob(f"{path.name}.*"):  # by readers that were killed
                shutil.rmtree(left, ignore_errors=True)


def is_read(path: Path) -> bool:
    """True while another process has the file open: DuckDB's readers hold a lock."""
    with path.open("rb+") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
