"""Errands run several at once, once per key, and again later when the network was at fault."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from indexer.network.http.client import NoSuchHost, NotNow, Unreachable
from indexer.network.retry_queue import RetryQueue
from schemas.backoff import Backoff
from tests.indexer.running import until

QUICK = Backoff(first_seconds=0.01, longest_seconds=0.02)


@asynccontextmanager
async def running(
    request: Callable[[str], Awaitable[None]],
    workers: int = 2,
    backoff: Backoff = QUICK,
    attempts: int | None = None,
) -> AsyncIterator[RetryQueue[str]]:
    queue = RetryQueue[str]("test", request, workers=workers, backoff=backoff, attempts=attempts)
    task = asyncio.create_task(queue.run())
    yield queue
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def settled(queue: RetryQueue[str]) -> None:
    await until(lambda: len(queue) == 0)
    await asyncio.sleep(0.02)


async def test_a_key_that_waits_is_not_queued_twice() -> None:
    ran: Counter[str] = Counter()

    async def request(key: str) -> None:
        ran[key] += 1

    async with running(request) as queue:
        queue.ask(["a", "b", "a"])
        queue.ask(["a"])
        await settled(queue)

    assert ran == {"a": 1, "b": 1}


async def test_a_key_asked_for_while_it_runs_runs_once_more_after_that() -> None:
    """What was asked for after the start may not be covered by it; but two at once would race."""
    ran, at_once, most_at_once = 0, 0, 0

    async def request(_: str) -> None:
        nonlocal ran, at_once, most_at_once
        ran, at_once = ran + 1, at_once + 1
        most_at_once = max(most_at_once, at_once)
        await asyncio.sleep(0.02)
        at_once -= 1

    async with running(request) as queue:
        queue.ask(["a"])
        await asyncio.sleep(0.01)
        queue.ask(["a", "a"])
        await settled(queue)

    assert (ran, most_at_once) == (2, 1)


async def test_no_more_run_at_once_than_there_are_workers() -> None:
    at_once, most = 0, 0

    async def request(_: str) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.005)
        at_once -= 1

    async with running(request, workers=3) as queue:
        queue.ask(str(number) for number in range(20))
        await settled(queue)

    assert most == 3


async def test_a_passing_failure_is_tried_again_until_it_passes() -> None:
    failures = 3

    async def request(_: str) -> None:
        nonlocal failures
        if failures:
            failures -= 1
            raise Unreachable("down")

    async with running(request) as queue:
        queue.ask(["a"])
        await settled(queue)

    assert failures == 0


async def test_a_lasting_failure_and_a_broken_errand_are_not_tried_again() -> None:
    ran: Counter[str] = Counter()

    async def request(key: str) -> None:
        ran[key] += 1
        raise NoSuchHost("gone") if key == "gone" else ZeroDivisionError

    async with running(request) as queue:
        queue.ask(["gone", "broken"])
        await settled(queue)

    assert ran == {"gone": 1, "broken": 1}


async def test_patience_ends_after_its_attempts() -> None:
    ran = 0

    async def request(_: str) -> None:
        nonlocal ran
        ran += 1
        raise Unreachable("down")

    async with running(request, attempts=3) as queue:
        queue.ask(["a"])
        await settled(queue)

    assert ran == 3


async def test_who_is_told_when_there_is_a_turn_comes_then_and_has_not_failed() -> None:
    """However often: the number of attempts is not meant for that."""
    ran = 0

    async def request(_: str) -> None:
        nonlocal ran
        ran += 1
        if ran < 5:
            raise NotNow("too many wait for this server", 0.01)

    async with running(request, backoff=Backoff(30, 3600), attempts=1) as queue:
        queue.ask(["a"])
        await until(lambda: ran == 5)
