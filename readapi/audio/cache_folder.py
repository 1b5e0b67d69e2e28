"""A folder of complete files that processes share, of bounded size: the least recently used are deleted."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PART = ".part"
_ABANDONED_SECONDS = 3600.0


@contextmanager
def arriving(path: Path) -> Iterator[Path]:
    """A temporary path beside the final one for an incomplete file, deleted after the block."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.urandom(6).hex()}{_PART}")
    try:
        yield part
    finally:
        part.unlink(missing_ok=True)


def make_room(folder: Path, max_bytes: int) -> None:
    """Delete the least recently used files until the rest fits. Open files stay readable."""
    found = []
    for entry in os.scandir(folder):
        try:
            stat = entry.stat()
        except FileNotFoundError:
            continue
        if not entry.name.endswith(_PART):
            found.append((stat.st_mtime, stat.st_size, entry.path))
        elif stat.st_mtime < time.time() - _ABANDONED_SECONDS:
            Path(entry.path).unlink(missing_ok=True)
    too_many = sum(size for _, size, _ in found) - max_bytes
    for _, size, path in sorted(found):
        if too_many <= 0:
            return
        Path(path).unlink(missing_ok=True)
        too_many -= size
