"""Slots that limit concurrent background jobs; a long-running job frees its slot and runs on beside it."""

import asyncio
from collections import deque

USUAL_SECONDS = 20.0  # after which a job counts as long-running
LONG_AT_ONCE = 32


class Displaced(Exception):
    """A long-running job was stopped to make room for another one."""


class JobSlots:
    """`at_once` slots, each held for `usual_seconds` at most.

    Jobs that take longer wait for slow servers or for a transcode, and cost little meanwhile. When more than
    `long_at_once` of them run, the oldest is stopped and retried later.
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
    """One slot, taken until `end`. `displaced` is set when its job must stop."""

    def __init__(self, slots: JobSlots) -> None:
        self.displaced = asyncio.Event()
        self._slots = slots
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(slots.usual_seconds, self._give_to_others)
        self._is_long = False

    def end(self) -> None:
        """Free the slot; the job has ended, whether it succeeded or failed."""
        self._timer.cancel()
        if not self._is_long:
            self._slots.free.release()
        elif not self.displaced.is_set():
            self._slots.long.remove(self)

    def _give_to_others(self) -> None:
        self._is_long = True
        self._slots.long.append(self)
        self._slots.free.release()
        if len(self._slots.long) > self._slots.long_at_once:
            self._slots.long.popleft().displaced.set()
