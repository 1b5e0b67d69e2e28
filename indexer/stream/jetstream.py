"""A Jetstream, version 1 or 2: only the requested collections, as JSON and without proof."""

import contextlib
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

import orjson
from yarl import URL

from indexer.events import Decode, Frame
from indexer.network.websockets import WebSocketClient
from indexer.stream.decode_jetstream import EPOCH, MICROSECOND, decode_json, stream_error
from indexer.stream.dialects import JETSTREAM_PATHS
from indexer.stream.prefilter import Prefilter
from indexer.stream.websocket.stream import HEARTBEAT_SECONDS, Stream
from schemas.backoff import Backoff
from schemas.ids import Nsid

REWIND: Final = timedelta(seconds=5)
OLDEST: Final = 10**15  # version 2 does not take a smaller cursor for a time
# Hosts keep at least a day. With an older cursor, version 1 begins at its oldest event without saying so.
KEPT: Final = timedelta(hours=24)
OUTDATED: Final = orjson.dumps({"kind": "info", "info": {"name": "OutdatedCursor"}})

Version = Literal["1", "2"]


@dataclass(frozen=True, slots=True)
class _Wire:
    path: str
    filter: str  # the query parameter that names collections
    protocols: tuple[str, ...]


_WIRES: Final[dict[Version, _Wire]] = {
    "1": _Wire(JETSTREAM_PATHS[0], "wantedCollections", ()),
    "2": _Wire(JETSTREAM_PATHS[1], "collections", ("xrpc.v1.json",)),
}


class Jetstream:
    """A source with microseconds for sequence numbers, so that one host resumes where another ended.

    Every connection begins REWIND before the finished cursor: hosts differ in their order of events, and
    repeated events are harmless. `start`: where to begin without a cursor.
    """

    def __init__(
        self,
        url: str,
        client: WebSocketClient,
        collections: frozenset[Nsid],
        *,
        version: Version = "1",
        start: Literal["oldest", "live"] = "oldest",
        backoff: Backoff | None = None,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        wire = _WIRES[version]
        self.name = f"{URL(url).origin()}{wire.path}"
        self.finished: Callable[[], int | None] = lambda: None
        self.prefilter: Prefilter | None = None  # unused: the host sends only the requested collections
        self.decode: Decode = decode_json
        self._url = URL(self.name).with_query([(wire.filter, nsid) for nsid in sorted(collections)])
        self._is_silent_on_gaps = version == "1"
        self._start = start
        self._furthest: int | None = None
        self._outdated = False
        self._stream = Stream(
            self.name,
            client,
            address=self._address,
            farewell=self._farewell,
            protocols=wire.protocols,
            backoff=backoff,
            heartbeat_seconds=heartbeat_seconds,
        )
        self.status = self._stream.status

    async def frames(self, after: int | None) -> AsyncGenerator[Frame, None]:
        """Yield every frame after `after`, and some before it, for as long as the caller iterates."""
        self._furthest = after
        async with contextlib.aclosing(self._stream.frames()) as frames:
            async for frame in frames:
                if self._outdated:
                    self._outdated = False
                    yield frame._replace(raw=OUTDATED)
                yield frame

    def cursor_at(self, instant: datetime) -> int | None:
        """The instant in microseconds."""
        return (instant - EPOCH) // MICROSECOND

    def _address(self) -> URL:
        finished = self.finished()
        # Short connections, each rewound, must not move the cursor further and further back.
        self._furthest = max(self._furthest or 0, finished or 0) or None
        if self._furthest is None:
            return self._url if self._start == "live" else self._url.update_query(cursor=OLDEST)
        kept_since = (datetime.now(UTC) - KEPT - EPOCH) // MICROSECOND
        self._outdated = self._is_silent_on_gaps and self._furthest < kept_since
        return self._url.update_query(cursor=max(OLDEST, self._furthest - REWIND // MICROSECOND))

    def _farewell(self, raw: bytes) -> str | None:
        """The message of an error frame, as a sentence; None for any other frame."""
        event = stream_error(raw)
        if event is None:
            return None
        return f"{self.name} ended the stream: {event.name}. {event.message}".rstrip()
