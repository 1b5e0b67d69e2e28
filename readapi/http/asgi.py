"""An ASGI application served behind the gate: one request in, an answer or a stream of events out.

Written here although aiohttp-asgi exists. Once the body is read, its `receive` returns at once for ever, so
that an idle stream spins on the event loop; it sends the head before the gate can add its headers; it reads
bodies without our limits of size and pace; and it takes over all addresses of its prefix, refusals included.
"""

import asyncio
import weakref
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any

import anyio
from aiohttp import web

from readapi.answers import EVENT_STREAM, JSON, Answer
from readapi.errors import Internal, RateLimited, refusal
from schemas.errors import Code

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

MOST_STREAMS = 256  # in one worker
MOST_STREAMS_OF_ONE = 4  # of one client among them
STREAM_SECONDS = 300.0  # then the stream ends, and the client may ask again
_LEFT_OUT = frozenset({"cookie"})  # of pages; no credential of programs


class StreamLimits:
    """The streams that are open in one worker, and how many of them each client has."""

    def __init__(
        self,
        most: int = MOST_STREAMS,
        of_one: int = MOST_STREAMS_OF_ONE,
        seconds: float = STREAM_SECONDS,
    ) -> None:
        self.seconds = seconds
        self._most, self._of_one = most, of_one
        self._open: Counter[str] = Counter()

    @property
    def open(self) -> int:
        """How many streams are open."""
        return self._open.total()

    def enter(self, client: str) -> Callable[[], None]:
        """Count one more stream of a client; call what is returned at its end. Raises RateLimited."""
        if self._open[client] >= self._of_one or self.open >= self._most:
            raise RateLimited("Too many streams are open; close one.", headers={"Retry-After": "10"})
        self._open[client] += 1
        return partial(self._leave, client)

    def _leave(self, client: str) -> None:
        self._open[client] -= 1
        if not self._open[client]:
            del self._open[client]


class AsgiExchange:
    """One request that the application works at, in a task of its own."""

    def __init__(self, app: AsgiApp, scope: MutableMapping[str, Any], body: bytes) -> None:
        self._body: bytes | None = body
        self._over = asyncio.Event()
        self._sending, self.sent = anyio.create_memory_object_stream[Message](0)
        self._task = asyncio.create_task(self._run(app, scope))

    async def result(self) -> None:
        """Wait for the application's end. Raises what it raised."""
        await self._task

    def end(self) -> None:
        """The client is gone, or needs no more: what still runs is cancelled."""
        self._over.set()
        self._task.cancel()
        self.sent.close()

    async def _run(self, app: AsgiApp, scope: MutableMapping[str, Any]) -> None:
        async with self._sending:
            await app(scope, self._receive, self._sending.send)

    async def _receive(self) -> Message:
        """The whole body at first, then nothing until the client disconnects."""
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._over.wait()
        return {"type": "http.disconnect"}


class AsgiStream(web.StreamResponse):
    """The application's events, until its last one, the time limit, or the client's disconnect."""

    def __init__(
        self, headers: Mapping[str, str], exchange: AsgiExchange, seconds: float, end: Callable[[], None]
    ) -> None:
        """`end` is called exactly once, even if the response is never sent."""
        super().__init__(headers={**headers, "Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._exchange, self._seconds = exchange, seconds
        self._end = weakref.finalize(self, end)

    async def write_eof(self, data: bytes = b"") -> None:
        """Writes all events: aiohttp has sent the head before it calls this."""
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._seconds):
                    async for message in self._exchange.sent:
                        await self.write(message.get("body", b""))
                    await self._exchange.result()
            await super().write_eof(data)
        finally:
            self._end()


async def answer_by_asgi(
    app: AsgiApp,
    request: web.Request,
    body: bytes,
    streams: StreamLimits,
    client: str,
    extensions: Mapping[str, object],
) -> Answer[Any] | web.StreamResponse:
    """Let the application answer. `extensions` are added to its scope. Raises RateLimited, Internal."""
    exchange = AsgiExchange(app, {**scope_of(request), **extensions}, body)
    try:
        start = await anext(exchange.sent, None)
        if start is None:
            await exchange.result()
            raise Internal
        headers = _headers(start)
        if headers.get("Content-Type", "").startswith(EVENT_STREAM):
            return _stream(headers, exchange, streams, client)
        content = b"".join([message.get("body", b"") async for message in exchange.sent])
        await exchange.result()
    except BaseException:
        exchange.end()
        raise
    exchange.end()
    return _answer(start["status"], headers, content)


def scope_of(request: web.Request) -> dict[str, Any]:
    """The request as ASGI writes it (https://asgi.readthedocs.io/en/latest/specs/www.html)."""
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.path,
        "raw_path": request.raw_path.partition("?")[0].encode(),
        "query_string": request.rel_url.raw_query_string.encode(),
        "root_path": "",
        "headers": [
            (name.lower(), value)
            for name, value in request.raw_headers
            if name.lower().decode("latin-1") not in _LEFT_OUT
        ],
    }


def _stream(
    headers: Mapping[str, str], exchange: AsgiExchange, streams: StreamLimits, client: str
) -> web.StreamResponse:
    leave = streams.enter(client)

    def end() -> None:
        exchange.end()
        leave()

    return AsgiStream(headers, exchange, streams.seconds, end)


def _headers(start: Message) -> dict[str, str]:
    """The application's headers by the names that we write; those of the connection are aiohttp's to send."""
    sent = {name.decode("latin-1").title(): value.decode("latin-1") for name, value in start["headers"]}
    return {name: value for name, value in sent.items() if name not in ("Connection", "Content-Length")}


def _answer(status: int, headers: dict[str, str], content: bytes) -> Answer[Any]:
    """The answer as it was made; a refusal that is not JSON in our own shape."""
    media_type = headers.pop("Content-Type", "")
    if status >= HTTPStatus.BAD_REQUEST and not (media_type.startswith(JSON) and content):
        sentence = content.decode(errors="replace") or HTTPStatus(status).phrase
        return refusal(status, Code.INVALID_REQUEST, f"{sentence.rstrip('.')}.", headers=headers)
    return Answer(content, media_type or "text/plain", status, headers)
