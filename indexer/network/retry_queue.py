"""Retry queues: run small network requests for keys with several workers, and retry those that fail."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, TypeVar

import structlog
from prometheus_client import Counter

from indexer import faults
from indexer.network.http.client import NotNow, OutboundError
from schemas.backoff import Backoff

log = structlog.get_logger()

FAILED = Counter(
    "fmsvc_outbound_failures_total",
    "Failed attempts of requests to other servers, by retry queue.",
    ["queue"],
)

Key = TypeVar("Key")


class RetryQueue(Generic[Key]):
    """Runs `work` for each queued key. At most one run per key is in flight; the key may be queued again.

    Work that raises a transient OutboundError is run again after a back-off, or for NotNow after the seconds
    that it names; any other end is final.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[Key], Awaitable[None]],
        *,
        workers: int,
        backoff: Backoff,
        attempts: int | None = None,
    ) -> None:
        """`attempts`: after how many failures in a row a key is given up; None: after none."""
        self._name = name
        self._run_work = work
        self._workers = workers
        self._backoff = backoff
        self._attempts = attempts
        self._queue: asyncio.Queue[Key] = asyncio.Queue()
        self._queued: set[Key] = set()
        self._running: set[Key] = set()
        self._asked_again: set[Key] = set()  # queued again while they were running
        self._failures: dict[Key, int] = {}
        self._timers: dict[Key, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        """Keys that wait, for a worker or for another attempt."""
        return len(self._queued) + len(self._asked_again) + len(self._timers)

    @property
    def is_idle(self) -> bool:
        """True when no key is queued or running; keys may still wait for another attempt."""
        return not (self._queued or self._running or self._asked_again)

    async def idle(self) -> None:
        """Wait until no key is queued or running; keys may still wait for another attempt."""
        await self._queue.join()

    def ask(self, keys: Iterable[Key]) -> None:
        """Queue these keys, also those that wait for another attempt."""
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
                await self._run_work(key)
            except NotNow as refusal:
                self._wait(key, refusal.retry_after)
            except OutboundError as error:
                self._failed(key, error)
            except BaseException as error:
                if not isinstance(error, Exception) and not faults.is_panic(error):
                    raise
                self._failures.pop(key, None)
                faults.record_fault(self._name, error)
                log.warning("request raised an unexpected error", queue=self._name, key=str(key))
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
        given_up = not error.transient or failures == self._attempts
        pause = None if given_up else self._backoff.pause(failures)
        log.info("request failed", queue=self._name, key=str(key), reason=str(error), retry_in=pause)
        if pause is not None:
            self._failures[key] = failures
            self._wait(key, pause)

    def _wait(self, key: Key, seconds: float) -> None:
        if key not in self._timers:
            self._timers[key] = asyncio.get_running_loop().call_later(seconds, self._again, key)

    def _again(self, key: Key) -> None:
        del self._timers[key]
        self.ask((key,))
