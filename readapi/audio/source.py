"""Where a recording's bytes come from when they are sent: a file on this machine, or the store."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from readapi.audio.files import OpenFile
from readapi.audio.store import AudioStore


@dataclass(frozen=True, slots=True)
class Source:
    """One file, to be sent whole or in part. `etag` is strong: the bytes of a hash never change.

    `file`: the open file, if it is on this machine; else it is read from the store, piece by piece.
    """

    key: str
    size: int
    media_type: str
    etag: str
    file: OpenFile | None
    store: AudioStore

    def read(self, start: int, stop: int) -> AsyncGenerator[bytes, None]:
        """The bytes from `start` up to `stop`."""
        return self.store.read(self.key, start, stop)
