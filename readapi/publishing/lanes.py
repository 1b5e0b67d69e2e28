"""Slots for work in the background: what takes long gives its slot to others, and goes on beside them."""

import asyncio
from collections import deque

USUAL_SECONDS = 20.0  # that work may take before it counts as long
LONG_AT_ONCE = 32


class Displaced(Exception):
    """Work that took long broke off for other work that takes long."""


class Lanes:
    """`at_once` slots for work of usual length, which nothing can hold for longer than that.

    Work that takes longer waits for slow servers or for its turn to be rendered, and costs little meanwhile.
    When more than `long_at_once` do, the one that has had the most time breaks off and is tried again later.
    """

    def __init__(
        self, at_once: int, usual_seconds: float = USUAL_SECONDS, long_at_once: int = LONG_AT_ONCE
    ) -> None:
        self.free = asyncio.Semaphore(at_once)
        self.long: deque[Slot] = deque()
        self.usual_seconds = usual_seconds
        self.long_at_once = long_at_once

    async def slot(self) -> "Slot":
        """Wait for a free slot and take it."""
        await self.free.acquire()
        return Slot(self)


class Slot:
    """One slot, taken until `end`. `displaced` is set when its work is to break off."""

    def __init__(self, lanes: Lanes) -> None:
        self.displaced = asyncio.Event()
        self._lanes = lanes
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(lanes.usual_seconds, self._give_to_others)
        self._is_long = False

    def end(self) -> None:
        """The work has ended, however it did."""
        self._timer.cancel()
        if not self._is_long:
            self._lanes.free.release()
        elif not self.displaced.is_set():
            self._lanes.long.remove(self)

    def _give_to_others(self) -> None:
        self._is_long = True
        self._lanes.long.append(self)
        self._lanes.free.release()
        if len(self._lanes.long) > self._lanes.long_at_once:
            self._lanes.long.popleft().displaced.set()
