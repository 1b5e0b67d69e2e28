"""The object store of FMSVC_PUBLISH_URL: a folder, or an S3 bucket. Short requests, and conditional ones."""

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotFoundError,
    NotModifiedError,
    PreconditionError,
)
from obstore.store import LocalStore, S3Store

from schemas.buckets import SCHEME, open_bucket

PART_BYTES: Final = 8 << 20  # of an upload or a download in parts
MESSAGE_CHARACTERS: Final = 300
_LOCK: Final = ".lock"  # of a folder, held while an object is replaced on a condition
_LOCK_SECONDS: Final = 5.0
_TIMEOUT: Final = timedelta(seconds=60)  # of a request


class ObjectsAway(Exception):
    """The store cannot be used now; a later try may succeed. The message is for the log."""


class Changed(Exception):
    """A conditional write found another version of the object than it was to replace."""


class Found(NamedTuple):
    """An object's content and the tag of this version."""

    content: bytes
    tag: str


class Listed(NamedTuple):
    """An object in a listing, its bytes, and when it was written by the store's clock."""

    key: str
    size: int
    modified: datetime


class Objects:
    """Objects by their keys. Every method raises ObjectsAway when the store cannot be used."""

    def __init__(self, store: LocalStore | S3Store, folder: Path | None = None) -> None:
        """`folder`: where the objects are, if they are files."""
        self._store = store
        self._folder = folder

    @classmethod
    def open(cls, url: str) -> "Objects":
        """The store of a setting: `file:///folder`, which is made, or `s3://bucket/prefix?…`."""
        if url.startswith(SCHEME):
            return cls(open_bucket(url, _TIMEOUT, {"max_retries": 2, "retry_timeout": timedelta(seconds=5)}))
        folder = Path(unquote(urlsplit(url).path))
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return cls(LocalStore(folder), folder)

    @property
    def may_tear(self) -> bool:
        """Whether an object can be listed that is not whole, as a file after a loss of power."""
        return self._folder is not None

    async def find(self, key: str, known: str | None = None) -> Found | None:
        """The object; None if there is none, or it is still the version of the tag `known`."""
        try:
            with _translated():
                got = await obstore.get_async(
                    self._store, key, options={"if_none_match": known} if known else {}
                )
                return Found(bytes(await got.bytes_async()), got.meta["e_tag"] or "")
        except (NotFoundError, FileNotFoundError, NotModifiedError):
            return None

    async def put(self, key: str, content: bytes | AsyncIterator[bytes]) -> None:
        """Write an object."""
        with _translated():
            if isinstance(content, bytes):
                await obstore.put_async(self._store, key, content, use_multipart=len(content) > PART_BYTES)
            else:
                await obstore.put_async(self._store, key, content, chunk_size=PART_BYTES, max_concurrency=2)

    async def put_if(self, key: str, content: bytes, tag: str | None) -> str:
        """Replace the version of a tag, or create the object if that is None. Returns the new tag.

        Raises Changed when there is another version. After ObjectsAway the object may have been written.
        """
        try:
            with _translated():
                if self._folder is not None:
                    return await asyncio.to_thread(self._replace, self._folder, key, content, tag)
                put = await obstore.put_async(
                    self._store, key, content, mode="create" if tag is None else {"e_tag": tag}
                )
        except (AlreadyExistsError, FileExistsError, PreconditionError) as error:
            raise Changed(key) from error
        return put["e_tag"] or ""

    async def ranges(self, key: str, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of these spans: offset and length. Raises KeyError when there is no such object."""
        starts, lengths = [start for start, _ in spans], [length for _, length in spans]
        try:
            with _translated():
                found = await obstore.get_ranges_async(self._store, key, starts=starts, lengths=lengths)
        except (NotFoundError, FileNotFoundError):
            raise KeyError(key) from None
        return [bytes(part) for part in found]

    async def keys(self, prefix: str) -> list[Listed]:
        """Every object below a prefix."""
        listed: list[Listed] = []
        with _translated():
            async for some in obstore.list(self._store, prefix):
                listed += [Listed(meta["path"], meta["size"], meta["last_modified"]) for meta in some]
        return listed

    async def folders(self, prefix: str) -> list[str]:
        """The names directly below a prefix. Some stores list a name whose objects were all deleted."""
        with _translated():
            found = await obstore.list_with_delimiter_async(self._store, prefix)
        return [path.rstrip("/").rpartition("/")[2] for path in found["common_prefixes"]]

    async def has_any(self, prefix: str) -> bool:
        """Whether there is an object below a prefix."""
        with _translated():
            async for some in obstore.list(self._store, prefix):
                if some:
                    return True
        return False

    async def delete(self, keys: Sequence[str]) -> None:
        """Delete objects, if they exist."""
        for key in keys:
            try:
                with _translated():
                    await obstore.delete_async(self._store, key)
            except (NotFoundError, FileNotFoundError):
                continue

    def _replace(self, folder: Path, key: str, content: bytes, tag: str | None) -> str:
        """Files have no conditional replacement, so all writers of a folder take turns."""
        with _turn(folder / _LOCK):
            try:
                known = obstore.head(self._store, key)["e_tag"]
            except (NotFoundError, FileNotFoundError):
                known = None
            if known != tag:
                raise FileExistsError(key)
            return obstore.put(self._store, key, content)["e_tag"] or ""


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    until = time.monotonic() + _LOCK_SECONDS
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise ObjectsAway(f"{path} is locked by another process.") from None
                time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _translated() -> Iterator[None]:
    """Raise what a store says as ObjectsAway, but for answers that callers tell apart."""
    try:
        yield
    except (NotFoundError, NotModifiedError, AlreadyExistsError, PreconditionError):
        raise
    except (FileNotFoundError, FileExistsError):
        raise
    except (BaseError, OSError) as error:
        raise ObjectsAway(str(error).partition("\n")[0][:MESSAGE_CHARACTERS]) from error
