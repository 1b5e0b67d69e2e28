"""Keeps the search index up to date with the catalogue: one step after each commit, or after several."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from indexer.search.index import STEP_ENTRIES

LAST_ENTRIES = 500  # of the outbox, which are still indexed at a stop
PAUSE = 0.5  # times the duration of the step before it
MANY_ENTRIES = 2000  # in one step: a flood, which costs a third less in larger steps
FLOOD_PAUSES = 12  # after such a step, for as long as the flood lasts
PRUNE_ENTRIES = 2000  # of the outbox, which cost less to keep for a while than to remove one by one


class Follower:
    """`follow` indexes outbox entries and returns the watermark; `prune` deletes entries up to it.

    Every step has a fixed cost. So each is followed by a pause in which more entries collect, unless a caller
    waits or there are enough for a whole step. From a step's beginning to the end of its pause the follower
    `is_at_work`; then `rested` is called. A watermark below 0 means that the
    index is being rebuilt, a part at each step, and cannot be searched yet.
    """

    def __init__(
        self,
        follow: Callable[[], Awaitable[int]],
        prune: Callable[[int], Awaitable[None]],
        *,
        watermark: int,
        op: int,
    ) -> None:
        self.watermark = watermark
        self.is_at_work = False
        self.rested: Callable[[], None] = lambda: None
        self._follow = follow
        self._prune = prune
        self._op = op
        self._pruned = 0
        self._moved = asyncio.Condition()
        self._wake = asyncio.Event()
        self._wake.set()
        self._hurry = asyncio.Event()
        self._closing = False

    def committed(self, op: int) -> None:
        """Note that outbox entries up to `op` are committed."""
        if op > self._op:
            self._op = op
            self._wake.set()
            self._hurry_if_late()

    async def reached(self, op: int) -> None:
        """Wait until everything up to `op` is searchable; the next step begins at once."""
        self._hurry.set()
        async with self._moved:
            await self._moved.wait_for(lambda: self.watermark >= op)

    def close(self) -> None:
        """Take one more step if it reaches the end; then `run` ends. The next start does the rest."""
        self._closing = True
        self._wake.set()
        self._hurry.set()

    async def run(self) -> None:
        """Follow for ever. An error of the index ends it: our own store is at fault."""
        while True:
            self.is_at_work = False
            self.rested()
            # A batch that was held goes first, also where the next step begins at once.
            await asyncio.sleep(0)
            await self._wake.wait()
            self.is_at_work = True
            self._wake.clear()
            self._hurry.clear()
            closing = self._closing
            if closing and self._op - self.watermark > LAST_ENTRIES:
                return
            began, before = time.monotonic(), self.watermark
            watermark = await self._follow()
            seconds = time.monotonic() - began
            async with self._moved:
                self.watermark = watermark
                self._moved.notify_all()
            if closing or watermark >= self._pruned + PRUNE_ENTRIES:
                await self._prune(watermark)
                self._pruned = watermark
            if closing:
                return
            if watermark < self._op:
                self._wake.set()
            self._hurry_if_late()
            await self._rest(PAUSE * seconds, FLOOD_PAUSES if watermark - before >= MANY_ENTRIES else 1)

    def _hurry_if_late(self) -> None:
        if self.watermark < 0 or self._op >= self.watermark + STEP_ENTRIES:
            self._hurry.set()

    async def _rest(self, seconds: float, times: int) -> None:
        """Pause once, and again while more entries arrive."""
        for _ in range(times):
            op = self._op
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._hurry.wait()
            if self._hurry.is_set() or self._op == op:
                return
