"""Errands: small questions to the network about what is already stored, several at once."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

import structlog
from prometheus_client import Counter

from indexer import faults
from indexer.outbound import NotNow, OutboundError

log = structlog.get_logger()

FAILED = Counter("fmsvc_errands_failed_total", "Errands that could not be done at one attempt.", ["errand"])

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait before another attempt, doubled each time, and how often to try; None: for ever."""

    first_seconds: float = 30.0
    longest_seconds: float = 3600.0
    attempts: int | None = None

    def within(self, seconds: float | None) -> "Patience":
        """The same, but never longer than this."""
        if seconds is None:
            return self
        return Patience(min(self.first_seconds, seconds), min(self.longest_seconds, seconds), self.attempts)

    def pause(self, failures: int) -> float | None:
        """Seconds until the next attempt; None: give up."""
        if self.attempts is not None and failures >= self.attempts:
            return None
        longest = min(self.first_seconds * 2.0 ** min(failures - 1, 30), self.longest_seconds)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, hides nothing


class Errands(Generic[Key]):
    """Runs `errand` for each key that is asked for: a key's never beside itself, but once more after an end.

    An errand that raises a transient OutboundError is run again later, and NotNow says itself how much later;
    any other end is an end.
    """

    def __init__(
        self, name: str, errand: Callable[[Key], Awaitable[None]], *, workers: int, patience: Patience
    ) -> None:
        self._name = name
        self._errand = errand
        self._workers = workers
        self._patience = patience
        self._queue: asyncio.Queue[Key] = asyncio.Queue()
        self._queued: set[Key] = set()
        self._running: set[Key] = set()
        self._asked_again: set[Key] = set()  # asked for while they were running
        self._failures: dict[Key, int] = {}
        self._timers: dict[Key, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        """Keys that wait, for a worker or for another attempt."""
        return len(self._queued) + len(self._asked_again) + len(self._timers)

    async def idle(self) -> None:
        """Wait until nothing is to be done but what waits for another attempt."""
        await self._queue.join()

    def ask(self, keys: Iterable[Key]) -> None:
        """Run these soon, those that wait for another attempt at once."""
        for key in keys:
            if timer := self._timers.pop(key, None):
                timer.cancel()
            if key in self._running:
                self._asked_again.add(key)
            elif key not in self._queued:
                self._queued.add(key)
                self._queue.put_nowait(key)

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._workers):
                    group.create_task(self._work())
        finally:
            for timer in self._timers.values():
                timer.cancel()

    async def _work(self) -> None:
        while True:
            key = await self._queue.get()
            self._queued.discard(key)
            self._running.add(key)
            try:
                await self._errand(key)
            except NotNow as told:
                self._wait(key, told.retry_after)
            except OutboundError as error:
                self._failed(key, error)
            except BaseException as error:
                if not isinstance(error, Exception) and not faults.is_panic(error):
                    raise
                self._failures.pop(key, None)
                faults.reason(self._name, error)
                log.warning("errand broke", errand=self._name, key=str(key))
            else:
                self._failures.pop(key, None)
            finally:
                self._running.discard(key)
                if key in self._asked_again:
                    self._asked_again.discard(key)
                    self.ask((key,))
                self._queue.task_done()

    def _failed(self, key: Key, error: OutboundError) -> None:
        FAILED.labels(self._name).inc()
        failures = self._failures.pop(key, 0) + 1
        pause = self._patience.pause(failures) if error.transient else None
        log.info("errand failed", errand=self._name, key=str(key), reason=str(error), retry_in=pause)
        if pause is not None:
            self._failures[key] = failures
            self._wait(key, pause)

    def _wait(self, key: Key, seconds: float) -> None:
        if key not in self._timers:
            self._timers[key] = asyncio.get_running_loop().call_later(seconds, self._again, key)

    def _again(self, key: Key) -> None:
        del self._timers[key]
        self.ask((key,))
