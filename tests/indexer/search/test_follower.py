"""The search index follows every commit, several at once when it is late, and forgets the way behind it."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from indexer.search.follower import FLOOD_PAUSES, LAST_ENTRIES, MANY_ENTRIES, PAUSE, PRUNE_ENTRIES, Follower
from indexer.search.index import STEP_ENTRIES
from tests.indexer.running import until
from tests.patience import PATIENCE_SECONDS


class Index:
    """Follows as far as the catalogue has come, at most `step` entries at a time."""

    def __init__(self) -> None:
        self.op = 0
        self.watermark = 0
        self.step = 1 << 30
        self.steps = 0
        self.seconds = 0.01
        self.pruned: list[int] = []
        self.pauses: list[float] = []
        self._ended = time.monotonic()

    async def follow(self) -> int:
        self.steps += 1
        self.pauses.append(time.monotonic() - self._ended)
        reached = min(self.op, self.watermark + self.step)
        await asyncio.sleep(self.seconds)
        self.watermark, self._ended = reached, time.monotonic()
        return reached

    async def prune(self, op: int) -> None:
        self.pruned.append(op)


@pytest.fixture
def index() -> Index:
    return Index()


@pytest.fixture
async def follower(index: Index) -> AsyncIterator[Follower]:
    opened = Follower(index.follow, index.prune, watermark=0, op=0)
    running = asyncio.create_task(opened.run())
    yield opened
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def commit(index: Index, follower: Follower, op: int) -> None:
    index.op = op
    follower.committed(op)


async def test_what_is_committed_is_reached(index: Index, follower: Follower) -> None:
    commit(index, follower, 7)

    await asyncio.wait_for(follower.reached(7), PATIENCE_SECONDS)

    assert follower.watermark == 7


async def test_an_index_that_is_being_made_is_made_to_its_end(index: Index) -> None:
    """Though the outbox is empty: a watermark below 0 asks for another step, after no pause."""
    marks = iter([-1, -1, -1, 0])

    async def make() -> int:
        await index.follow()
        return next(marks)

    follower = Follower(make, index.prune, watermark=-1, op=0)
    running = asyncio.create_task(follower.run())
    await asyncio.wait_for(follower.reached(0), PATIENCE_SECONDS)
    running.cancel()

    assert index.steps == 4
    assert min(index.pauses[1:]) < PAUSE * index.seconds


async def test_commits_during_a_step_are_taken_together(index: Index, follower: Follower) -> None:
    for op in range(1, 50):
        commit(index, follower, op)
        await asyncio.sleep(0.001)
    await asyncio.wait_for(follower.reached(49), PATIENCE_SECONDS)

    assert index.steps < 20


async def test_after_a_long_step_comes_a_longer_pause(index: Index, follower: Follower) -> None:
    """A step costs as much for a few entries as for many, so the next ones come together."""
    index.seconds = 0.4
    commit(index, follower, 1)
    await until(lambda: follower.watermark == 1)
    for op in range(2, 8):
        await asyncio.sleep(0.02)
        commit(index, follower, op)
    await until(lambda: follower.watermark == 7)

    assert index.steps == 3  # the first has nothing to do


async def test_it_is_at_work_until_the_pause_ends(index: Index, follower: Follower) -> None:
    rested = asyncio.Event()
    await until(lambda: index.steps == 1 and not follower.is_at_work)  # the first step has nothing to do
    index.seconds, follower.rested, began = 0.1, rested.set, time.monotonic()
    commit(index, follower, 1)
    await until(lambda: follower.is_at_work)
    await rested.wait()

    assert not follower.is_at_work
    assert time.monotonic() - began >= index.seconds * (1 + PAUSE)


async def test_in_a_flood_the_pauses_are_longer_and_end_with_it(index: Index, follower: Follower) -> None:
    index.seconds = 0.05
    began = time.monotonic()
    for op in range(MANY_ENTRIES, 24 * MANY_ENTRIES, MANY_ENTRIES // 2):
        commit(index, follower, op)
        await asyncio.sleep(0.025)
    during, seconds = index.steps, time.monotonic() - began
    await until(lambda: follower.watermark == op)

    shortest = index.seconds * (1 + PAUSE * FLOOD_PAUSES)
    assert during <= seconds / shortest + 2  # the first two have little to do
    assert index.steps <= during + 1


@pytest.mark.slow
async def test_whoever_waits_ends_the_pause_and_so_does_enough_for_a_step(
    index: Index, follower: Follower
) -> None:
    index.seconds = 1.0
    commit(index, follower, 1)
    await until(lambda: follower.watermark == 1)

    commit(index, follower, 2)
    await follower.reached(2)
    commit(index, follower, 2 + STEP_ENTRIES)
    await until(lambda: follower.watermark > 2)

    assert max(index.pauses[-2:]) < PAUSE * index.seconds


async def test_a_long_way_is_gone_in_steps(index: Index, follower: Follower) -> None:
    index.step = 10
    commit(index, follower, 95)

    await asyncio.wait_for(follower.reached(95), PATIENCE_SECONDS)

    assert index.steps >= 10


async def test_there_is_no_pause_on_the_way_while_it_is_longer_than_a_step(index: Index) -> None:
    index.seconds, index.step, index.op = 0.3, STEP_ENTRIES, 4 * STEP_ENTRIES
    late = Follower(index.follow, index.prune, watermark=0, op=index.op)
    running = asyncio.create_task(late.run())

    await until(lambda: late.watermark == index.op)

    assert max(index.pauses[1:4]) < PAUSE * index.seconds
    late.close()
    await running


async def test_what_a_crash_left_behind_is_taken_up_at_the_start(index: Index) -> None:
    """The catalogue came further than the index did; no new commit is needed to notice."""
    index.op = 30
    index.step = 10
    late = Follower(index.follow, index.prune, watermark=0, op=30)
    running = asyncio.create_task(late.run())

    await until(lambda: late.watermark == 30)

    late.close()
    await running


async def test_a_stop_does_not_wait_for_a_long_way(index: Index) -> None:
    """The next start goes on; the index has a watermark of its own."""
    index.op, index.step = 10 * LAST_ENTRIES, 1
    follower = Follower(index.follow, index.prune, watermark=0, op=index.op)
    running = asyncio.create_task(follower.run())
    await follower.reached(1)

    follower.close()

    await asyncio.wait_for(running, PATIENCE_SECONDS)


async def test_the_way_behind_is_forgotten_now_and_then_and_at_the_end(index: Index) -> None:
    follower = Follower(index.follow, index.prune, watermark=0, op=0)
    running = asyncio.create_task(follower.run())
    for op in (1, PRUNE_ENTRIES, PRUNE_ENTRIES + 1):
        commit(index, follower, op)
        await follower.reached(op)
    follower.close()
    await running

    assert index.pruned == [PRUNE_ENTRIES, PRUNE_ENTRIES + 1]
