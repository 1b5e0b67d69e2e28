"""The bytes to send: an open file on this machine, or a file in the store of recordings."""

import asyncio
import os
import weakref
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from readapi.audio.store import AudioStore
from readapi.audio.under_way import Subjects, UnderWay


class OpenFile:
    """Stays readable while it is open, even if deleted or replaced. Closed with its last reference."""

    def __init__(self, path: Path) -> None:
        """Raises FileNotFoundError."""
        self.number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.close = weakref.finalize(self, os.close, self.number)
        self.size = os.fstat(self.number).st_size

    def read(self, start: int, length: int) -> bytes:
        """Read up to `length` bytes from `start`."""
        return os.pread(self.number, length, start)


@dataclass(frozen=True, slots=True)
class AudioSource:
    """One file to send, whole or in part. `etag` is strong: it contains the hash of the bytes.

    `file`: the open file, if it is on this machine; otherwise it is read from the store in pieces.
    `subjects`: what a takedown of it may name: the account, the track's at-uri, the recording's CID.
    """

    key: str
    size: int
    media_type: str
    etag: str
    file: OpenFile | None
    store: AudioStore
    subjects: Subjects
    under_way: UnderWay

    def sent_on(self, transport: asyncio.Transport) -> AbstractContextManager[None]:
        """Within the block it is being sent on this connection. Raises ConnectionError once taken down."""
        return self.under_way.sending(self.subjects, transport)

    def read(self, start: int, stop: int) -> AsyncGenerator[bytes, None]:
        """The bytes from `start` up to `stop`."""
        return self.store.read(self.key, start, stop)


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file on this machine that never changes. `etag` is strong."""

    file: OpenFile
    media_type: str
    etag: str

    @property
    def size(self) -> int:
        """In bytes."""
        return self.file.size
