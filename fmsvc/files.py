"""Files on disk: opened for upload with progress, and named for downloads without leaving the folder."""

import base64
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, cast

from fmsvc.errors import MissingFileError

OnProgress = Callable[[int, int], None]  # bytes sent or received, bytes in all


def open_file(path: Path | str, on_progress: OnProgress | None = None) -> BinaryIO:
    """A file to upload, read in pieces as it is sent. Raises MissingFileError."""
    try:
        file = Path(path).expanduser().open("rb")
    except FileNotFoundError:
        raise MissingFileError(f"There is no file {path}.") from None
    return file if on_progress is None else cast(BinaryIO, _Reporting(file, on_progress))


def rewind_files(files: Mapping[str, tuple[str, object]]) -> None:
    """Set files that are sent once more back to their beginnings."""
    for _name, file in files.values():
        if not isinstance(file, bytes):
            cast(BinaryIO, file).seek(0)


class _Reporting:
    """A file that reports how far it was read."""

    def __init__(self, file: BinaryIO, on_progress: OnProgress) -> None:
        self._file, self._on_progress = file, on_progress
        self._size = file.seek(0, 2)
        file.seek(0)

    def read(self, size: int = -1) -> bytes:
        found = self._file.read(size)
        self._on_progress(self._file.tell(), self._size)
        return found

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def fileno(self) -> int:
        return self._file.fileno()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "_Reporting":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def place_file(output: Path | str | None, name: str) -> Path:
    """Where to write: `output`; this name in it if that is a folder, in the current folder if it is None."""
    path = Path(name) if output is None else Path(output).expanduser()
    return path / name if path.is_dir() else path


def file_name(title: str, extension: str, fallback: str) -> str:
    """A name without separators or leading dots, from the title and extension that a server gives."""
    stem = "".join(c for c in title if c.isalnum() or c in " -_").strip()[:60] or fallback
    return f"{stem}.{extension}" if re.fullmatch(r"[A-Za-z0-9]{1,8}", extension) else stem


def sha256_of(file_id: str) -> bytes | None:
    """The SHA-256 that a file id names as a CIDv1 of raw bytes; None for other ids."""
    if not re.fullmatch(r"b[a-z2-7]{58}", file_id):
        return None
    text = file_id[1:].upper()
    cid = base64.b32decode(text + "=" * (-len(text) % 8))
    return cid[4:] if cid[:4] == b"\x01\x55\x12\x20" else None
