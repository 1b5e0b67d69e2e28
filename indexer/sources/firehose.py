"""A relay's firehose: every event of the network with its proof, resumed at finished work."""

from collections.abc import AsyncGenerator, Callable
from datetime import datetime
from typing import Literal

import aiohttp
from yarl import URL

from indexer.decode import decode, stream_error
from indexer.events import Decode, Frame
from indexer.glance import Glance
from indexer.sources.stream import HEARTBEAT_SECONDS, Backoff, Stream

PATH = "/xrpc/com.atproto.sync.subscribeRepos"

_ERROR_HEADER = b"\xa1bop\x20"  # the DAG-CBOR of {"op": -1}


class Firehose:
    """The source `relay`. `finished` is asked at every reconnection.

    `start` says where to begin with no cursor, or with one that the relay does not know.
    """

    def __init__(
        self,
        relay: str,
        session: aiohttp.ClientSession,
        *,
        start: Literal["oldest", "live"] = "oldest",
        backoff: Backoff | None = None,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        self.name = str(URL(relay).origin())
        self.finished: Callable[[], int | None] = lambda: None
        self.glance: Glance | None = None
        self.decode: Decode = decode
        self._url = URL(relay.rstrip("/") + PATH)
        self._start = start
        self._after: int | None = None
        self._asked: int | None = None
        self._refused: int | None = None
        self._stream = Stream(
            self.name,
            session,
            address=self._address,
            farewell=self._farewell,
            backoff=backoff,
            heartbeat_seconds=heartbeat_seconds,
        )
        self.status = self._stream.status

    def frames(self, after: int | None) -> AsyncGenerator[Frame, None]:
        """Yield what follows `after` for as long as the caller iterates."""
        self._after = after
        return self._stream.frames(self.glance)

    def cursor_at(self, instant: datetime) -> int | None:
        """None: a relay's numbers say nothing about time."""
        return None

    def _address(self) -> URL:
        self._asked = self._cursor()
        return self._url if self._asked is None else self._url.with_query(cursor=self._asked)

    def _cursor(self) -> int | None:
        finished = self.finished()
        cursor = self._after if finished is None else finished
        if cursor is None or cursor == self._refused:
            return 0 if self._start == "oldest" else None
        return cursor

    def _farewell(self, raw: bytes) -> str | None:
        """What an error frame says, as a sentence."""
        event = stream_error(raw) if raw.startswith(_ERROR_HEADER) else None
        if event is None:
            return None
        if event.name == "FutureCursor":
            self._refused = self._asked
            where = "its oldest event" if self._start == "oldest" else "its newest event"
            return f"{self.name} does not know cursor {self._asked} (FutureCursor); beginning at {where}."
        return f"{self.name} ended the stream: {event.name}. {event.message}".rstrip()
