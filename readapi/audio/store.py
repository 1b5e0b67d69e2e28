"""The audio store: a folder, or a bucket of S3. Keys are paths such as `originals/{sha256}`."""

import asyncio
import errno
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import obstore
from obstore.store import LocalStore, S3Store

from schemas.settings import Settings

CHUNK_BYTES = 256 << 10
PART_BYTES = 8 << 20  # of an upload to S3; 10,000 of them are the longest file
PARTS_AT_ONCE = 2

_CONNECT_TIMEOUT = timedelta(seconds=5)
_READ_TIMEOUT = timedelta(minutes=15)  # of one request: a part, or a whole range that somebody reads slowly


class StoredFile(NamedTuple):
    """One file of the store: its key, its size in bytes, and when it was last written."""

    key: str
    size: int
    modified: datetime


class AudioStore:
    """Keeps files under keys. What `put` was given is there, after a power cut too, once it returns."""

    def __init__(self, store: LocalStore | S3Store, folder: Path | None = None) -> None:
        """`folder`: where the files lie, if they lie on this machine."""
        self._store = store
        self._folder = folder

    @classmethod
    def of(cls, settings: Settings) -> "AudioStore":
        """The store that the settings name."""
        if settings.audio_url is not None and settings.audio_url.startswith("s3://"):
            return cls(_s3(settings.audio_url))
        folder = Path(settings.audio_url) if settings.audio_url else settings.data_dir / "audio"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return cls(LocalStore(folder), folder)

    async def put(self, key: str, source: Path) -> None:
        """Take a file over: it is gone from where it was. A file that was under the key is replaced."""
        if self._folder is not None:
            await asyncio.to_thread(_move, source, self._folder / key)
            return
        with source.open("rb") as file:
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
        """Put something short, in place of what was there; whole or not at all."""
        if self._folder is not None:
            await asyncio.to_thread(_write, self._folder / key, content)
        else:
            await obstore.put_async(self._store, key, content)

    async def content(self, key: str) -> bytes | None:
        """All of something short; None: there is none."""
        try:
            found = await obstore.get_async(self._store, key)
        except FileNotFoundError:
            return None
        return bytes(await found.bytes_async())

    async def move(self, key: str, target: str) -> None:
        """Put a file that is in the store under another key. Raises FileNotFoundError."""
        if self._folder is not None:
            await asyncio.to_thread(_move, self._folder / key, self._folder / target)
            self._tidy(key)
        else:
            await obstore.rename_async(self._store, key, target)

    async def delete(self, key: str) -> None:
        """Forget a file; nothing happens when there is none."""
        try:
            await obstore.delete_async(self._store, key)
        except FileNotFoundError:
            return
        self._tidy(key)

    def _tidy(self, key: str) -> None:
        """Remove the folder of one upload with its last file; those that all files share stay."""
        if self._folder is not None and key.count("/") > 1:
            with suppress(OSError):  # it holds another file
                (self._folder / key).parent.rmdir()

    async def size(self, key: str) -> int | None:
        """How many bytes a file has; None: there is none."""
        try:
            return (await obstore.head_async(self._store, key))["size"]
        except FileNotFoundError:
            return None

    async def read(self, key: str, start: int, stop: int) -> AsyncGenerator[bytes, None]:
        """The bytes from `start` up to `stop`, piece by piece. Raises FileNotFoundError."""
        if start >= stop:
            return
        found = await obstore.get_async(self._store, key, options={"range": (start, stop)})
        async for chunk in found.stream(min_chunk_size=CHUNK_BYTES):
            yield bytes(chunk)

    def path(self, key: str) -> Path | None:
        """Where the file lies, if that is on this machine; it need not exist."""
        return None if self._folder is None else self._folder / key

    @asynccontextmanager
    async def local(self, key: str) -> AsyncIterator[Path]:
        """The file on this machine, for reading, as long as the block runs. Raises FileNotFoundError."""
        if (path := self.path(key)) is not None:
            if not path.is_file():
                raise FileNotFoundError(key)
            yield path
            return
        with tempfile.NamedTemporaryFile(prefix="fmsvc-") as copy:
            async for chunk in (await obstore.get_async(self._store, key)).stream(min_chunk_size=CHUNK_BYTES):
                await asyncio.to_thread(copy.write, bytes(chunk))
            copy.flush()
            yield Path(copy.name)

    async def keys(self, prefix: str) -> AsyncIterator[StoredFile]:
        """The files in a folder of the store, such as `originals`."""
        async for some in obstore.list(self._store, prefix):
            for meta in some:
                yield StoredFile(meta["path"], meta["size"], meta["last_modified"])


def _s3(url: str) -> S3Store:
    """`s3://bucket/prefix?region=…&endpoint=…`; what it does not say comes from the AWS_* variables."""
    parts = urlsplit(url)
    config: dict[str, Any] = dict(parse_qsl(parts.query))
    allow_http = config.get("endpoint", "").startswith("http://")
    return S3Store(
        parts.netloc,
        prefix=parts.path.strip("/") or None,
        client_options={
            "allow_http": allow_http,
            "connect_timeout": _CONNECT_TIMEOUT,
            "timeout": _READ_TIMEOUT,
        },
        **config,
    )


def _move(source: Path, target: Path) -> None:
    """Durably: bytes, then name, then the folders that hold it. A move that fails changes nothing."""
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
    """From another disk."""
    arriving = target.with_name(f"{target.name}.{os.urandom(6).hex()}.part")
    try:
        shutil.copyfile(source, arriving)
        _sync(arriving)
        arriving.replace(target)
    finally:
        arriving.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Let the disk have what is written of a file, or which files a folder holds."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
