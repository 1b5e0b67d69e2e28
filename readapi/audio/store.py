"""The audio store: a folder, or an S3 bucket. Keys are paths such as `originals/{sha256}`."""

import asyncio
import errno
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import obstore
from obstore.exceptions import BaseError
from obstore.store import LocalStore, S3Store

from schemas.buckets import SCHEME, open_bucket
from schemas.settings import Settings

CHUNK_BYTES = 256 << 10
PART_BYTES = 8 << 20  # of an upload to S3; 10,000 of them are the longest file
PARTS_AT_ONCE = 2
MESSAGE_CHARACTERS = 500

_READ_TIMEOUT = timedelta(minutes=15)  # of one request: a part, or a whole range for a slow client


class StoredFile(NamedTuple):
    """One file of the store: its key, its size in bytes, and when it was last written."""

    key: str
    size: int
    modified: datetime


class AudioStoreError(OSError):
    """A request to the store failed; a retry may succeed."""


class AudioStore:
    """Stores files under keys. When `put` returns, the file is durable, even after a power cut.

    All methods raise OSError when the store, local or remote, cannot be used.
    """

    def __init__(self, store: LocalStore | S3Store, folder: Path | None = None) -> None:
        """`folder`: where the files are, if they are on this machine."""
        self._store = store
        self._folder = folder

    @classmethod
    def of(cls, settings: Settings) -> "AudioStore":
        """The configured store."""
        if settings.audio_url is not None and settings.audio_url.startswith(SCHEME):
            return cls(open_bucket(settings.audio_url, _READ_TIMEOUT))
        folder = Path(settings.audio_url) if settings.audio_url else settings.data_dir / "audio"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return cls(LocalStore(folder), folder)

    async def put(self, key: str, source: Path) -> None:
        """Move a local file into the store, replacing any file under the key."""
        if self._folder is not None:
            await asyncio.to_thread(_move, source, self._folder / key)
            return
        with source.open("rb") as file, _translated():
            await obstore.put_async(
                self._store,
                key,
                file,
                use_multipart=True,
                chunk_size=PART_BYTES,
                max_concurrency=PARTS_AT_ONCE,
            )
        source.unlink()

    async def write(self, key: str, content: bytes) -> None:
        """Write short content under a key atomically, replacing any that was there."""
        if self._folder is not None:
            await asyncio.to_thread(_write, self._folder / key, content)
        else:
            with _translated():
                await obstore.put_async(self._store, key, content)

    async def content(self, key: str) -> bytes | None:
        """The content of a short file; None if there is none."""
        try:
            with _translated():
                return bytes(await (await obstore.get_async(self._store, key)).bytes_async())
        except FileNotFoundError:
            return None

    async def move(self, key: str, target: str) -> None:
        """Move a file within the store to another key. Raises FileNotFoundError."""
        if self._folder is not None:
            await asyncio.to_thread(_move, self._folder / key, self._folder / target)
            self._tidy(key)
        else:
            with _translated():
                await obstore.rename_async(self._store, key, target)

    async def delete(self, key: str) -> None:
        """Delete a file, if it exists."""
        try:
            with _translated():
                await obstore.delete_async(self._store, key)
        except FileNotFoundError:
            return
        self._tidy(key)

    def _tidy(self, key: str) -> None:
        """Remove the folder of one upload with its last file; shared folders stay."""
        if self._folder is not None and key.count("/") > 1:
            with suppress(OSError):  # it holds another file
                (self._folder / key).parent.rmdir()

    async def size(self, key: str) -> int | None:
        """The size of a file in bytes; None if there is none."""
        try:
            with _translated():
                return (await obstore.head_async(self._store, key))["size"]
        except FileNotFoundError:
            return None

    async def read(self, key: str, start: int, stop: int) -> AsyncGenerator[bytes, None]:
        """The bytes from `start` up to `stop`, piece by piece. Raises FileNotFoundError."""
        if start >= stop:
            return
        with _translated():
            found = await obstore.get_async(self._store, key, options={"range": (start, stop)})
            async for chunk in found.stream(min_chunk_size=CHUNK_BYTES):
                yield bytes(chunk)

    def path(self, key: str) -> Path | None:
        """The path of a file, which need not exist; None if the store is remote."""
        return None if self._folder is None else self._folder / key

    @asynccontextmanager
    async def local(self, key: str) -> AsyncIterator[Path]:
        """A local path of the file, for reading within the block. Raises FileNotFoundError."""
        if (path := self.path(key)) is not None:
            if not path.is_file():
                raise FileNotFoundError(key)
            yield path
            return
        with tempfile.NamedTemporaryFile(prefix="fmsvc-") as copy:
            with _translated():
                found = await obstore.get_async(self._store, key)
                async for chunk in found.stream(min_chunk_size=CHUNK_BYTES):
                    await asyncio.to_thread(copy.write, bytes(chunk))
            copy.flush()
            yield Path(copy.name)

    async def keys(self, prefix: str) -> AsyncIterator[StoredFile]:
        """The files in a folder of the store, such as `originals`."""
        with _translated():
            async for some in obstore.list(self._store, prefix):
                for meta in some:
                    yield StoredFile(meta["path"], meta["size"], meta["last_modified"])


@contextmanager
def _translated() -> Iterator[None]:
    """Raise the library's errors as StoreError. It raises FileNotFoundError itself."""
    try:
        yield
    except BaseError as error:
        raise AudioStoreError(str(error).partition("\n")[0][:MESSAGE_CHARACTERS]) from error


def _move(source: Path, target: Path) -> None:
    """Move durably: sync the bytes, rename, sync the folders. A failed move changes nothing."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _sync(source)
    try:
        source.replace(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy(source, target)
        source.unlink()
    _sync(target.parent)
    _sync(target.parent.parent)


def _write(target: Path, content: bytes) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    arriving = target.with_name(f"{target.name}.{os.urandom(6).hex()}.part")
    try:
        arriving.write_bytes(content)
        _sync(arriving)
        arriving.replace(target)
    finally:
        arriving.unlink(missing_ok=True)
    _sync(target.parent)


def _copy(source: Path, target: Path) -> None:
    """Copy from another file system, atomically."""
    arriving = target.with_name(f"{target.name}.{os.urandom(6).hex()}.part")
    try:
        shutil.copyfile(source, arriving)
        _sync(arriving)
        arriving.replace(target)
    finally:
        arriving.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Flush a file's content, or a folder's entries, to disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
