"""The two protocols in which a client reads the feed: server-sent events and WebSocket.

aiohttp writes the head; the feed then writes to the transport, so that a change costs a client one write.
"""

import asyncio
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from aiohttp import HttpVersion11, WSMsgType, web

from readapi.answers import EVENT_STREAM
from readapi.live.feed import Feed
from readapi.live.subscriber import Subscriber, Wanted

MOST_MESSAGE_BYTES: Final = 1024  # that a client may send: it has nothing to say
_OUTDATED: Final = {"info": {"name": "OutdatedCursor", "message": "Older changes are no longer kept."}}


class Subscription:
    """What both protocols share: the place among the clients, the beginning of the stream, and its end."""

    def __init__(self, feed: Feed, wanted: Wanted, cursor: int | None, leave: Callable[[], None]) -> None:
        self.wanted = wanted
        self.leave = leave
        self._feed = feed
        self._cursor = cursor

    async def run(self, transport: asyncio.Transport | None) -> None:
        """Send the stream until the client or the service ends it."""
        if transport is None:
            return
        feed, cursor = self._feed, self._cursor
        # No wait between this and joining, where there is no cursor.
        position = feed.position if cursor is None else cursor
        subscriber = Subscriber(transport, self.wanted, position)
        if feed.is_outdated(cursor):
            subscriber.send(self.wanted.told("info", position, **_OUTDATED), position)
        subscriber.send(self.wanted.told("heartbeat", position), position)
        await feed.serve(subscriber, cursor)


class EventStream(web.StreamResponse):
    """Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

    def __init__(self, subscription: Subscription, headers: Mapping[str, str]) -> None:
        super().__init__(
            headers={
                **headers,
                "Content-Type": EVENT_STREAM,
                "Cache-Control": "no-store",
                "X-Accel-Buffering": "no",
            }
        )
        self._subscription = subscription
        self._left = weakref.finalize(self, subscription.leave)

    async def write_eof(self, data: bytes = b"") -> None:
        """Writes all events: aiohttp has sent the head before it calls this."""
        request = self._req
        assert request is not None
        try:
            await self.write(b":\n")  # a comment, with which the head is sent
            await self._subscription.run(request.transport)
            with suppress(ConnectionError):
                await super().write_eof(data)
        finally:
            self._left()


class SocketStream(web.WebSocketResponse):
    """A WebSocket whose client only listens."""

    def __init__(self, subscription: Subscription) -> None:
        super().__init__(compress=False, max_msg_size=MOST_MESSAGE_BYTES, timeout=2.0)
        self._subscription = subscription
        self._left = weakref.finalize(self, subscription.leave)

    async def write_eof(self) -> None:  # type: ignore[override]
        """Writes all events, and answers pings and the client's closing."""
        request = self._req
        assert request is not None
        listening = asyncio.create_task(self._listen())
        sending = asyncio.create_task(self._subscription.run(request.transport))
        try:
            await asyncio.wait((listening, sending), return_when=asyncio.FIRST_COMPLETED)
            if not self.closed:
                with suppress(ConnectionError):
                    await self.close(code=1001)
        finally:
            for task in (listening, sending):
                task.cancel()
            await asyncio.gather(listening, sending, return_exceptions=True)
            self._left()

    async def _listen(self) -> None:
        async for message in self:
            if message.type is WSMsgType.ERROR:
                return


def is_websocket(request: web.Request) -> bool:
    """Whether the request asks for a WebSocket (RFC 6455, section 4.2.1)."""
    return request.headers.get("Upgrade", "").lower() == "websocket"


def is_chunked(request: web.Request) -> bool:
    """Whether the body of a stream is sent in chunks: HTTP/1.0 has none."""
    return request.version >= HttpVersion11
