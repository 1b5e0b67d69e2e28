"""An inbox: changes that the feed has sent to one webhook, waiting for delivery."""

import asyncio
from collections import deque
from typing import Final, NamedTuple

from readapi.live.subscriber import Subscriber, Wanted

MOST_CHANGES: Final = 100  # of one delivery
MOST_BYTES: Final = 256 << 10  # of one delivery, unless one change is larger
MOST_WAITING: Final = 2 * MOST_BYTES  # above it the feed is left, and followed again once this is delivered


class Parcel(NamedTuple):
    """The changes of one delivery, each as JSON, and the position that it leads to."""

    position: int
    changes: list[bytes]


class Inbox(Subscriber):
    """A client of the feed without a connection. `wanted` has neither chunks nor WebSocket frames.

    `sending_to`: where an interrupted delivery ends. All changes up to it are kept, however large they are.
    """

    def __init__(self, wanted: Wanted, position: int, sending_to: int = 0) -> None:
        self.wanted = wanted
        self.position = position
        self.ended = asyncio.Event()
        self.arrived = asyncio.Event()
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._bytes = 0
        self._taken_to = position
        self._sending_to = sending_to

    def end(self) -> None:
        """Expect no more changes: the feed is not followed any longer."""
        self.ended.set()
        self.arrived.set()

    def send(self, content: bytes, position: int) -> None:
        """Keep the changes; end where too much waits already."""
        if self.ended.is_set():
            return
        if self._bytes > MOST_WAITING and self.position >= self._sending_to:
            self.ended.set()
        else:
            for event in content.split(b"\n\n"):
                self._keep(event)
            self.position = position
        self.arrived.set()

    async def calm(self) -> None:
        """Return at once: an inbox with too much waiting leaves the feed (see `send`)."""

    async def next_parcel(self) -> Parcel | None:
        """Wait for changes; None once the feed was left and all that came before was taken."""
        while not self._waiting and not self.ended.is_set():
            self.arrived.clear()
            await self.arrived.wait()
        if not self._waiting:
            return None
        changes = self._take()
        return Parcel(self._taken_to, changes)

    async def interrupted_parcel(self) -> Parcel | None:
        """Wait for the changes up to `sending_to`; None if the feed was left before all had arrived."""
        while self.position < self._sending_to and not self.ended.is_set():
            self.arrived.clear()
            await self.arrived.wait()
        if self.position < self._sending_to:
            return None
        return Parcel(self._sending_to, self._take(self._sending_to))

    def _take(self, last: int | None = None) -> list[bytes]:
        """Take the changes up to a position, or as many as one delivery takes."""
        taken: list[bytes] = []
        size = 0
        while self._waiting:
            position, change = self._waiting[0]
            is_full = len(taken) == MOST_CHANGES or (taken and size + len(change) > MOST_BYTES)
            if is_full if last is None else position > last:
                break
            self._waiting.popleft()
            self._taken_to = position
            taken.append(change)
            size += len(change)
        self._bytes -= size
        return taken

    def _keep(self, event: bytes) -> None:
        """Keep a change as the feed writes it for server-sent events; messages of the feed have a name."""
        head, _, change = event.partition(b"\ndata: ")
        if head.startswith(b"id: "):
            self._waiting.append((int(head[4:]), change))
            self._bytes += len(change)
