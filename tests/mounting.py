"""File systems of a test's own, on machines that let it mount one."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(folder: Path, *arguments: str | Path) -> Iterator[Path]:
    """Mount a file system on the folder, by these arguments of `mount`, or skip the test."""
    tried = subprocess.run(["mount", *arguments, folder], capture_output=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"mounting a file system takes more rights than we have: {tried.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def mounted_in_memory(folder: Path, options: str) -> Iterator[Path]:
    """The same with a file system that is kept in memory."""
    with mounted(folder, "-t", "tmpfs", "-o", options, "tmpfs"):
        yield folder
