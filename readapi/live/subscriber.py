"""One client of the live feed: its filter, its position, and whether it reads fast enough."""

import asyncio
from typing import Final, NamedTuple

import orjson

from readapi.live import wire
from readapi.live.event import Event
from readapi.live.filters import Filter

MOST_WAITING: Final = 1 << 20  # bytes that a client has not read yet; more, and it is dropped
# Below this many unread bytes a client that catches up is sent more. Not above the mark at which transports
# resume, so that the server sees that the client has read.
CALM: Final = 16 << 10
TOO_SLOW: Final = "ConsumerTooSlow"


class Wanted(NamedTuple):
    """What a client wants, and how it is written. Clients that want the same share their bytes."""

    filter: Filter
    cards: bool = False
    websocket: bool = False
    chunked: bool = True

    def bytes_of(self, events: list[Event]) -> bytes:
        """All of these events that the client wants, ready to send."""
        parts = [
            event.sent(cards=self.cards, websocket=self.websocket)
            for event in events
            if self.filter.admits(event)
        ]
        return self.framed(b"".join(parts))

    def framed(self, content: bytes) -> bytes:
        """Content as the connection carries it."""
        return wire.chunk(content) if content and self.chunked and not self.websocket else content

    def told(self, kind: str, position: int, **members: object) -> bytes:
        """A message about the feed itself, with the position from which the client can resume."""
        text = orjson.dumps({"kind": kind, "time_us": position, **members})
        if self.websocket:
            return wire.text_frame(text)
        return self.framed(b"event: %b\nid: %d\ndata: %b\n\n" % (kind.encode(), position, text))


class Subscriber:
    """A client's connection. `position`: everything wanted up to it was sent."""

    def __init__(self, transport: asyncio.Transport, wanted: Wanted, position: int) -> None:
        self.wanted = wanted
        self.position = position
        self.ended = asyncio.Event()
        self._transport = transport

    def send(self, content: bytes, position: int) -> None:
        """Send bytes, after which all that is wanted up to the position was sent. Drops a slow client."""
        if self.ended.is_set():
            return
        if content:
            if self._transport.get_write_buffer_size() > MOST_WAITING:
                self._drop()
                return
            self._transport.write(content)
        self.position = position

    async def calm(self) -> None:
        """Wait until most of what was sent is read. The server ends clients that read nothing."""
        while self._transport.get_write_buffer_size() > CALM and not self.ended.is_set():
            if self._transport.is_closing():
                self.ended.set()
            await asyncio.sleep(0.02)

    def _drop(self) -> None:
        """Send the position to resume from, then close the connection."""
        message = self.wanted.told("error", self.position, error=TOO_SLOW, cursor=self.position)
        if self.wanted.websocket:
            message += wire.close_frame(wire.TRY_AGAIN_LATER, f"{TOO_SLOW} cursor={self.position}")
        self._transport.write(message)
        self._transport.close()
        self.ended.set()
