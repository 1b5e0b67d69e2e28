"""A few tasks at once: no more than asked for, and none goes on after a failure."""

import asyncio

import pytest

from indexer.replication.at_once import AtOnce


class Work:
    """Tasks that count how many run, and what became of each."""

    def __init__(self) -> None:
        self.running = self.most = 0
        self.done: list[int] = []
        self.cancelled: list[int] = []

    async def run(self, number: int, turns: int) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            for _ in range(turns):
                await asyncio.sleep(0)
            self.done.append(number)
        except asyncio.CancelledError:
            self.cancelled.append(number)
            raise
        finally:
            self.running -= 1


async def broken() -> None:
    raise OSError("broken")


async def test_all_end_and_never_too_many_run() -> None:
    work = Work()
    async with AtOnce(3) as tasks:
        for number in range(10):
            await tasks.start(work.run(number, turns=10 - number))

    assert sorted(work.done) == list(range(10))
    assert work.most == 3


async def test_a_failure_is_raised_and_cancels_the_others() -> None:
    work = Work()

    async def failing() -> None:
        async with AtOnce(3) as tasks:
            await tasks.start(work.run(0, turns=1_000_000))
            await tasks.start(broken())
            await tasks.start(work.run(1, turns=1_000_000))

    with pytest.raises(OSError, match="broken"):
        await failing()
    assert (work.done, work.running) == ([], 0)
    assert 0 in work.cancelled


async def test_a_failure_of_the_block_cancels_all() -> None:
    work = Work()

    async def failing() -> None:
        async with AtOnce(3) as tasks:
            await tasks.start(work.run(0, turns=1_000_000))
            await asyncio.sleep(0)
            raise ValueError("ours")

    with pytest.raises(ValueError, match="ours"):
        await failing()
    assert work.cancelled == [0]
