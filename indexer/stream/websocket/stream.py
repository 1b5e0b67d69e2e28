"""Reads a websocket for ever: reconnects after every end with back-off, and reports its status."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from datetime import UTC, datetime

import structlog
from yarl import URL

from indexer import faults
from indexer.events import Frame
from indexer.network.websockets import NotUpgraded, WebSocketClient
from indexer.stream import Status
from indexer.stream.prefilter import Prefilter
from indexer.stream.websocket.connection import ABNORMAL_CLOSURE, MESSAGE_TOO_BIG, Connection
from indexer.stream.websocket.inbox import Bunch
from schemas.backoff import Backoff, parse_retry_after

HEARTBEAT_SECONDS = 30.0
CONNECT_SECONDS = 20.0
STABLE_SECONDS = 30.0  # a connection that lasted so long ends a row of failures
MAX_RETRY_AFTER_SECONDS = 3_600.0
MAX_MESSAGE_BYTES = 8 << 20
MAX_GIANT_BYTES = 64 << 20  # the next connection's; the decoders refuse frames above their own limits

_MAX_SENTENCE = 300

log = structlog.get_logger()


class Stream:
    """Frames of the source `name`. While the consumer is busy, little more than a megabyte is received.

    `address` returns the URL of each new connection. `farewell` is called with every message: it returns a
    sentence when the server ends the stream with this message, else None.
    """

    def __init__(
        self,
        name: str,
        client: WebSocketClient,
        *,
        address: Callable[[], URL],
        farewell: Callable[[bytes], str | None],
        protocols: Sequence[str] = (),
        backoff: Backoff | None = None,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        self.name = name
        self.status = Status()
        self._client = client
        self._address = address
        self._farewell = farewell
        self._protocols = protocols
        self._backoff = backoff or Backoff()
        self._heartbeat = heartbeat_seconds
        self._failures = 0
        self._ended: str | None = None  # the server's reason for ending this connection, as a sentence
        self._max_bytes = MAX_MESSAGE_BYTES

    async def frames(self, prefilter: Prefilter | None = None) -> AsyncGenerator[Frame, None]:
        """Yield every message that the prefilter does not drop, for as long as the caller iterates."""
        status = self.status
        while True:
            connection = await self._connect(prefilter)
            since, before, self._ended = time.monotonic(), status.frames, None
            try:
                while self._ended is None and (bunch := await connection.take()):
                    for frame in self._frames(bunch):
                        yield frame
            finally:
                status.connected = False
                await connection.close()
            if status.frames > before and time.monotonic() - since >= STABLE_SECONDS:
                self._failures = 0
            await self._lost(connection)

    def _frames(self, bunch: Bunch) -> Iterator[Frame]:
        """Yield the bunch's messages, up to one with which the server ends the stream."""
        status, received_at = self.status, datetime.now(UTC)
        status.frames += bunch.messages
        status.bytes += bunch.size
        status.last_frame_at = received_at
        for raw, passed in bunch.kept:
            try:
                self._ended = self._farewell(raw)
            except BaseException as error:
                if faults.is_fatal(error):
                    raise
                faults.record_fault("farewell", error)  # the frame goes to the decoder, which keeps it
            if self._ended is None:
                status.error = None
            yield Frame(self.name, raw, received_at, passed)
            if self._ended is not None:
                break

    async def _connect(self, prefilter: Prefilter | None) -> Connection:
        """Connect, retrying until it succeeds."""
        while True:
            url = self._address()
            connection = Connection(prefilter, max_bytes=self._max_bytes, heartbeat_seconds=self._heartbeat)
            try:
                await self._open(url, connection)
            except NotUpgraded as error:
                failure = f"{self.name} answered HTTP {error.status} instead of a stream."
                await self._wait(f"http_{error.status}", failure, _pause_asked(error.retry_after))
            except TimeoutError:
                await self._wait("unreachable", f"{self.name} did not answer within {CONNECT_SECONDS:.0f} s.")
            except OSError as error:
                await self._wait("unreachable", f"{self.name} cannot be reached: {error}.")
            else:
                self.status.connected = True
                log.info("source connected", source=self.name, cursor=url.query.get("cursor"))
                return connection

    async def _open(self, url: URL, connection: Connection) -> None:
        """Raises NotUpgraded, any other OSError, and TimeoutError; nothing is left open then."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._client.connect(
                    url, connection, max_frame_bytes=self._max_bytes, protocols=self._protocols
                )
        except BaseException:
            connection.abort()
            raise

    async def _lost(self, connection: Connection) -> None:
        ended, code = self._ended, connection.close_code
        if connection.error is not None and faults.is_fatal(connection.error):
            raise connection.error
        if ended is None and connection.error is not None:
            ended = f"The connection to {self.name} failed: {connection.error}."
        if ended is None and connection.is_silent:
            ended = f"{self.name} fell silent and did not answer a ping."
        if ended is None and code == ABNORMAL_CLOSURE:
            ended = f"The connection to {self.name} broke off."
        # Refusing a message for ever would stop the stream at it. Others are not allowed so much memory.
        self._max_bytes = MAX_GIANT_BYTES if code == MESSAGE_TOO_BIG else MAX_MESSAGE_BYTES
        await self._wait(str(code), ended or f"{self.name} closed the connection with code {code}.")

    async def _wait(self, reason: str, failure: str, at_least_seconds: float = 0.0) -> None:
        """Note a failure, and pause before the next attempt."""
        self._failures += 1
        seconds = max(at_least_seconds, self._backoff.pause(self._failures))
        self.status.reconnects[reason] += 1
        self.status.error = failure[:_MAX_SENTENCE]
        self.status.retry_at = time.monotonic() + seconds
        log.warning("source lost", source=self.name, error=self.status.error, retry_in=round(seconds, 1))
        try:
            await asyncio.sleep(seconds)
        finally:
            self.status.retry_at = None


def _pause_asked(retry_after: str) -> float:
    """Seconds that the server's Retry-After asks for, at most an hour; 0 without the header."""
    return min(parse_retry_after(retry_after) or 0.0, MAX_RETRY_AFTER_SECONDS)
