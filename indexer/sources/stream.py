"""A websocket that never gives up: connects anew after every end, backs off, and says how it is doing."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import aiohttp
import structlog
from aiohttp import WSCloseCode
from yarl import URL

from indexer import faults, retry_after
from indexer.events import Frame
from indexer.glance import Glance
from indexer.sources import Status
from indexer.sources.inbox import Bunch, Inbox, Socket

HEARTBEAT_SECONDS = 30.0
CONNECT_SECONDS = 20.0
CLOSE_SECONDS = 1.0
MAX_RETRY_AFTER_SECONDS = 3_600.0
MAX_MESSAGE_BYTES = 8 << 20
# Refusing one message for ever would stop the stream at it; decoders refuse what is over their limit.
MAX_GIANT_BYTES = 64 << 20

_MAX_SENTENCE = 300

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before another attempt: doubled each time, jittered, anew after a stable spell."""

    first_seconds: float = 1.0
    cap_seconds: float = 60.0
    stable_seconds: float = 30.0

    def within(self, seconds: float | None) -> "Backoff":
        """The same, but never longer than this."""
        if seconds is None:
            return self
        return Backoff(min(self.first_seconds, seconds), min(self.cap_seconds, seconds), self.stable_seconds)

    def seconds(self, failures: int) -> float:
        longest = min(self.cap_seconds, self.first_seconds * 2.0 ** min(failures - 1, 30))
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, hides nothing


class Stream:
    """Frames of the source `name`. Iterating slower than they come stops the reading of the socket.

    `address` is asked at every connection where to go. `farewell` is shown every message: the sentence that
    says why the server ends the stream with it, None for all others.
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
        self._ended: str | None = None  # why the server itself ends this connection, as a sentence
        self._max_bytes = MAX_MESSAGE_BYTES

    async def frames(self, glance: Glance | None = None) -> AsyncGenerator[Frame, None]:
        """Yield every message for as long as the caller iterates, but for those that pass at a glance."""
        status = self.status
        while True:
            socket = await self._connect()
            since, before, self._ended = time.monotonic(), status.frames, None
            try:
                async with Inbox(socket, glance) as inbox, contextlib.aclosing(inbox.bunches()) as bunches:
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
            if status.frames > before and time.monotonic() - since >= self._backoff.stable_seconds:
                self._failures = 0
            await self._lost(socket, self._ended)

    def _frames(self, bunch: Bunch) -> Iterator[Frame]:
        """Its messages, up to one with which the server ends the stream."""
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
                faults.reason("farewell", error)  # the frame goes to the decoder, which keeps it
            if self._ended is None:
                status.error = None
            yield Frame(self.name, raw, received_at, passed)
            if self._ended is not None:
                break
            passed = 0

    async def _connect(self) -> Socket:
        """Try until there is a connection."""
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
                told = f"{self.name} answered HTTP {error.status} instead of a stream."
                await self._wait(f"http_{error.status}", told, _retry_after(error))
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

    async def _wait(self, reason: str, told: str, at_least_seconds: float = 0.0) -> None:
        """Note a failure, and pause before the next attempt."""
        self._failures += 1
        seconds = max(at_least_seconds, self._backoff.seconds(self._failures))
        self.status.reconnects[reason] += 1
        self.status.error = told[:_MAX_SENTENCE]
        self.status.retry_at = time.monotonic() + seconds
        log.warning("source lost", source=self.name, error=self.status.error, retry_in=round(seconds, 1))
        try:
            await asyncio.sleep(seconds)
        finally:
            self.status.retry_at = None


async def _disconnect(socket: Socket) -> None:
    # The far side may be slow to say goodbye, or gone.
    with contextlib.suppress(TimeoutError, aiohttp.ClientError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await socket.close()


def _retry_after(error: aiohttp.WSServerHandshakeError) -> float:
    """Seconds that the server asks for, as a number or a date; 0 when it does not."""
    asked = error.headers.get("Retry-After", "") if error.headers else ""
    return min(retry_after.seconds(asked) or 0.0, MAX_RETRY_AFTER_SECONDS)
