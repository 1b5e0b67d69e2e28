"""A relay's firehose (subscribeRepos): every event of the network with its proof, resumed at the cursor."""

from collections.abc import AsyncGenerator, Callable
from datetime import datetime
from typing import Literal

from yarl import URL

from indexer.events import Decode, Frame
from indexer.network.websockets import WebSocketClient
from indexer.stream.decode import decode_frame, stream_error
from indexer.stream.prefilter import Prefilter
from indexer.stream.websocket.stream import HEARTBEAT_SECONDS, Stream
from schemas.backoff import Backoff

PATH = "/xrpc/com.atproto.sync.subscribeRepos"

_ERROR_HEADER = b"\xa1bop\x20"  # the DAG-CBOR of {"op": -1}


class Firehose:
    """A relay as a source. Every reconnection calls `finished` for the cursor to resume at.

    `start`: where to begin without a cursor, or with one that the relay does not know.
    """

    def __init__(
        self,
        relay: str,
        client: WebSocketClient,
        *,
        start: Literal["oldest", "live"] = "oldest",
        backoff: Backoff | None = None,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        self.name = str(URL(relay).origin())
        self.finished: Callable[[], int | None] = lambda: None
        self.prefilter: Prefilter | None = None
        self.decode: Decode = decode_frame
        self._url = URL(relay.rstrip("/") + PATH)
        self._start = start
        self._after: int | None = None
        self._asked: int | None = None
        self._refused: int | None = None
        self._stream = Stream(
            self.name,
            client,
            address=self._address,
            farewell=self._farewell,
            backoff=backoff,
            heartbeat_seconds=heartbeat_seconds,
        )
        self.status = self._stream.status

    def frames(self, after: int | None) -> AsyncGenerator[Frame, None]:
        """Yield the frames after `after` for as long as the caller iterates."""
        self._after = after
        return self._stream.frames(self.prefilter)

    def cursor_at(self, instant: datetime) -> int | None:
        """None: a relay's sequence numbers do not encode time."""
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
        """The message of an error frame, as a sentence; None for any other frame."""
        event = stream_error(raw) if raw.startswith(_ERROR_HEADER) else None
        if event is None:
            return None
        if event.name == "FutureCursor":
            self._refused = self._asked
            where = "its oldest event" if self._start == "oldest" else "its newest event"
            return f"{self.name} does not know cursor {self._asked} (FutureCursor); beginning at {where}."
        return f"{self.name} ended the stream: {event.name}. {event.message}".rstrip()
