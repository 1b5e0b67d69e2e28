"""A backup's folder: created atomically, and checked byte for byte before it is restored.

SHA256SUMS lists every other file as `sha256sum` does, so that a backup can be checked without this program.
"""

import fcntl
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from readapi.backups.manifest import Manifest
from schemas import data_folder

SUMS: Final = "SHA256SUMS"
MANIFEST: Final = "manifest.json"
CATALOGUE: Final = data_folder.CATALOGUE
SQLITE: Final = data_folder.STATE_FILE
DUMP: Final = "state.dump"
KEY: Final = "secret.key"
AUDIO: Final = "audio"
LISTING: Final = "audio.list"  # of a bucket: size and key of each file

_LINE: Final = re.compile(r"([0-9a-f]{64})  ([^\0\n]+)")

Progress = Callable[[int, int], object]


class BackupError(Exception):
    """A backup cannot be made or used; the message is one sentence for the operator."""


@contextmanager
def make_folder(target: Path) -> Iterator[Path]:
    """A temporary folder to fill, renamed to `target` when the block succeeds. Raises BackupError."""
    if target.exists() or target.is_symlink():
        raise BackupError(f"{target} exists already; choose another folder.")
    partial = target.with_name(f"{target.name}.partial")
    with lock_folder(partial, f"Another backup is being made in {partial}; wait until it is done."):
        for left in partial.iterdir():  # by a backup that was interrupted
            shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
        try:
            yield partial
            sync_tree(partial)
            partial.rename(target)
            sync_to_disk(target.parent)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise


def seal_folder(folder: Path, manifest: Manifest, sums: dict[str, str]) -> None:
    """Write the manifest and the hashes, as the last step. `sums`: hashes that are known already."""
    (folder / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n")
    lines = [f"{sums.get(name) or hash_file(folder / name)}  {name}\n" for name in sorted(list_files(folder))]
    (folder / SUMS).write_text("".join(lines))


def check_folder(folder: Path, progress: Progress) -> Manifest:
    """Verify the hash of every file of a backup and return its manifest. Raises BackupError."""
    sums = _sums(folder)
    there = list_files(folder) - {SUMS}
    for name in sorted(there ^ sums.keys()):
        why = "is not listed in" if name in there else "is missing, and listed in"
        raise BackupError(f"The backup {folder} is damaged: {name} {why} {SUMS}. Nothing was restored.")
    for number, (name, listed) in enumerate(sums.items()):
        progress(number, len(sums))
        if (folder / name).is_symlink() or hash_file(folder / name) != listed:
            raise BackupError(
                f"The backup {folder} is damaged: {name} is not what it was. Nothing was restored."
            )
    progress(len(sums), len(sums))
    return _manifest(folder)


def list_files(folder: Path) -> set[str]:
    """All files below a folder, by relative path."""
    return {
        str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()
    }


def hash_file(path: Path) -> str:
    """A file's hash, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def copy_file(source: Path, target: Path) -> None:
    """Copy a file, readable by its user only."""
    shutil.copyfile(source, target, follow_symlinks=False)
    target.chmod(0o600)


def sync_tree(folder: Path) -> None:
    """Flush every file and folder to disk."""
    for path in folder.rglob("*"):
        sync_to_disk(path)
    sync_to_disk(folder)


def sync_to_disk(path: Path) -> None:
    """Flush a file's content, or a folder's entries, to disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextmanager
def lock_folder(path: Path, refusal: str) -> Iterator[None]:
    """Create the folder if need be, and lock it for this process. Raises BackupError with the refusal."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    number = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupError(refusal) from None
        yield
    finally:
        os.close(number)


def _sums(folder: Path) -> dict[str, str]:
    try:
        lines = (folder / SUMS).read_bytes().decode().removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BackupError(f"{folder} is no backup: its {SUMS} cannot be read.") from error
    found = [_LINE.fullmatch(line) for line in lines]
    if None in found:
        raise BackupError(f"The backup {folder} is damaged: {SUMS} is not what it was. Nothing was restored.")
    return {line[2]: line[1] for line in found if line is not None}


def _manifest(folder: Path) -> Manifest:
    try:
        return Manifest.model_validate_json((folder / MANIFEST).read_bytes())
    except (OSError, ValidationError) as error:
        raise BackupError(
            f"This version cannot read the manifest of {folder}; use the one that made it."
        ) from error
