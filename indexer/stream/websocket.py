"""The websocket under every source: reconnects after every end with back-off, and reports its status."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Literal, NamedTuple, Self

import aiohttp
import structlog
from aiohttp import ClientWebSocketResponse, WSCloseCode, WSMsgType
from yarl import URL

from indexer import faults
from indexer.events import Frame
from indexer.stream import Status
from indexer.stream.prefilter import Prefilter
from schemas.backoff import Backoff, parse_retry_after

Socket = ClientWebSocketResponse[Literal[False]]


_DATA = (WSMsgType.BINARY, WSMsgType.TEXT)


class Bunch(NamedTuple):
    """Messages received together. The prefilter dropped `passed` more; `size` is the bytes of all."""

    messages: list[bytes]
    passed: int
    size: int


HEARTBEAT_SECONDS = 30.0
CONNECT_SECONDS = 20.0
CLOSE_SECONDS = 1.0
STABLE_SECONDS = 30.0  # a connection that lasted so long ends a row of failures
MAX_RETRY_AFTER_SECONDS = 3_600.0
MAX_MESSAGE_BYTES = 8 << 20
# Refusing a message for ever would stop the stream at it; the decoders refuse frames above their own limits.
MAX_GIANT_BYTES = 64 << 20

_MAX_SENTENCE = 300

log = structlog.get_logger()


class Stream:
    """Frames of the source `name`. While the consumer is busy, the socket is not read.

    `address` returns the URL of each new connection. `farewell` is called with every message: it returns a
    sentence when the server ends the stream with this message, else None.
    """

    def __init__(
        self,
        name: str,
        session: aiohttp.ClientSession,
        *,
        address: Callable[[], URL],
        farewell: Callable[[bytes], str | None],
        protocols: Sequence[str] = (),
        backoff: Backoff | None = None,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        self.name = name
        self.status = Status()
        self._session = session
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
            socket = await self._connect()
            since, before, self._ended = time.monotonic(), status.frames, None
            try:
                async with Inbox(socket, prefilter) as inbox, contextlib.aclosing(inbox.bunches()) as bunches:
                    async for bunch in bunches:
                        for frame in self._frames(bunch):
                            yield frame
                        if self._ended is not None:
                            break
            except aiohttp.ClientError as error:
                self._ended = f"The connection to {self.name} failed: {error}."
            finally:
                status.connected = False
                await _disconnect(socket)
            if status.frames > before and time.monotonic() - since >= STABLE_SECONDS:
                self._failures = 0
            await self._lost(socket, self._ended)

    def _frames(self, bunch: Bunch) -> Iterator[Frame]:
        """Yield the bunch's messages, up to one with which the server ends the stream."""
        status, received_at, passed = self.status, datetime.now(UTC), bunch.passed
        status.frames += passed + len(bunch.messages)
        status.bytes += bunch.size
        status.last_frame_at = received_at
        for raw in bunch.messages:
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
            passed = 0

    async def _connect(self) -> Socket:
        """Connect, retrying until it succeeds."""
        while True:
            url = self._address()
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    socket = await self._session.ws_connect(
                        url,
                        protocols=self._protocols,
                        max_msg_size=self._max_bytes,
                        heartbeat=self._heartbeat,
                        timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_SECONDS),
                        decode_text=False,
                    )
            except aiohttp.WSServerHandshakeError as error:
                failure = f"{self.name} answered HTTP {error.status} instead of a stream."
                await self._wait(f"http_{error.status}", failure, _retry_after(error))
            except TimeoutError:
                await self._wait("unreachable", f"{self.name} did not answer within {CONNECT_SECONDS:.0f} s.")
            except (aiohttp.ClientError, OSError) as error:
                await self._wait("unreachable", f"{self.name} cannot be reached: {error}.")
            else:
                self.status.connected = True
                log.info("source connected", source=self.name, cursor=url.query.get("cursor"))
                return socket

    async def _lost(self, socket: Socket, ended: str | None) -> None:
        code = socket.close_code or int(WSCloseCode.ABNORMAL_CLOSURE)
        if ended is None and isinstance(socket.exception(), aiohttp.ServerTimeoutError):
            ended = f"{self.name} fell silent and did not answer a ping."
        if ended is None and code == WSCloseCode.ABNORMAL_CLOSURE:
            ended = f"The connection to {self.name} broke off."
        if code == WSCloseCode.MESSAGE_TOO_BIG:
            self._max_bytes = MAX_GIANT_BYTES
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


async def _disconnect(socket: Socket) -> None:
    # The server may be slow to answer the close frame, or gone.
    with contextlib.suppress(TimeoutError, aiohttp.ClientError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await socket.close()


def _retry_after(error: aiohttp.WSServerHandshakeError) -> float:
    """Seconds that the server's Retry-After asks for, at most an hour; 0 without the header."""
    asked = error.headers.get("Retry-After", "") if error.headers else ""
    return min(parse_retry_after(asked) or 0.0, MAX_RETRY_AFTER_SECONDS)


class Inbox:
    """Reads a websocket while the consumer waits for messages; while it processes them, the socket waits.

    A message that the prefilter passes is replaced by the next one of its bunch; the last one is always kept.
    """

    def __init__(self, socket: Socket, prefilter: Prefilter | None) -> None:
        self._socket = socket
        self._prefilter = prefilter
        self._wanted, self._came = asyncio.Event(), asyncio.Event()
        self._messages: list[bytes] = []
        self._passed = self._size = 0

    async def __aenter__(self) -> Self:
        self._filling = asyncio.create_task(self._fill())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._filling.cancel()
        await asyncio.gather(self._filling, return_exceptions=True)

    async def bunches(self) -> AsyncGenerator[Bunch, None]:
        """Yield bunches until the connection ends. Raises aiohttp.ClientError."""
        while not self._filling.done():
            self._messages, self._passed, self._size = [], 0, 0
            self._came.clear()
            self._wanted.set()
            await self._came.wait()
            self._wanted.clear()
            if self._messages:
                yield Bunch(self._messages, self._passed, self._size)
        self._filling.result()

    async def _fill(self) -> None:
        try:
            await self._fill_bunches()
        finally:
            self._came.set()

    async def _fill_bunches(self) -> None:
        receive, prefilter, may_go = self._socket.receive, self._prefilter, False
        while (message := await receive()).type in _DATA:
            if not self._wanted.is_set():
                await self._wanted.wait()
            raw: bytes = message.data
            self._size += len(raw)
            if not self._messages:
                self._messages.append(raw)
                self._came.set()
                if prefilter is not None:
                    prefilter.begin()
            elif may_go:
                self._messages[-1] = raw
                self._passed += 1
            else:
                self._messages.append(raw)
            try:
                may_go = prefilter is not None and prefilter.passes(raw)
            except BaseException as error:
                if faults.is_fatal(error):
                    raise
                faults.record_fault("glance", error)  # the frame goes to the decoder, which keeps it
                may_go = False
