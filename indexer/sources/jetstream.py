"""A Jetstream, version 1 or 2: only the collections that are asked for, as JSON and without proof."""

import contextlib
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

import aiohttp
import orjson
from yarl import URL

from indexer.dialects import JETSTREAM_PATHS
from indexer.events import Decode, Frame
from indexer.glance import Glance
from indexer.jetstream_events import EPOCH, MICROSECOND, decode_json, stream_error
from indexer.sources.stream import HEARTBEAT_SECONDS, Backoff, Stream
from schemas.ids import Nsid

REWIND: Final = timedelta(seconds=5)
OLDEST: Final = 10**15  # less than this is not a time to version 2
# Hosts keep a day at least. Of an older cursor version 1 makes their oldest event without a word.
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
    """A source whose numbers are microseconds, so that any host can be asked to go on where another ended.

    Every connection begins REWIND earlier than work is finished: hosts do not number in the same order, and
    what is repeated does no harm. `start` says where to begin with no cursor.
    """

    def __init__(
        self,
        url: str,
        session: aiohttp.ClientSession,
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
        self.glance: Glance | None = None  # for nothing: strangers' records are not sent
        self.decode: Decode = decode_json
        self._url = URL(self.name).with_query([(wire.filter, nsid) for nsid in sorted(collections)])
        self._is_silent_on_gaps = version == "1"
        self._start = start
        self._furthest: int | None = None
        self._outdated = False
        self._stream = Stream(
            self.name,
            session,
            address=self._address,
            farewell=self._farewell,
            protocols=wire.protocols,
            backoff=backoff,
            heartbeat_seconds=heartbeat_seconds,
        )
        self.status = self._stream.status

    async def frames(self, after: int | None) -> AsyncGenerator[Frame, None]:
        """Yield every frame that follows `after`, and some before it, for as long as the caller iterates."""
        self._furthest = after
        async with contextlib.aclosing(self._stream.frames()) as frames:
            async for frame in frames:
                if self._outdated:
                    self._outdated = False
                    yield frame._replace(raw=OUTDATED)
                yield frame

    def cursor_at(self, instant: datetime) -> int | None:
        """The microsecond."""
        return (instant - EPOCH) // MICROSECOND

    def _address(self) -> URL:
        finished = self.finished()
        # Short connections, each of them rewound, must not lead ever further back.
        self._furthest = max(self._furthest or 0, finished or 0) or None
        if self._furthest is None:
            return self._url if self._start == "live" else self._url.update_query(cursor=OLDEST)
        kept_since = (datetime.now(UTC) - KEPT - EPOCH) // MICROSECOND
        self._outdated = self._is_silent_on_gaps and self._furthest < kept_since
        return self._url.update_query(cursor=max(OLDEST, self._furthest - REWIND // MICROSECOND))

    def _farewell(self, raw: bytes) -> str | None:
        """What an error frame says, as a sentence."""
        event = stream_error(raw)
        if event is None:
            return None
        return f"{self.name} ended the stream: {event.name}. {event.message}".rstrip()
