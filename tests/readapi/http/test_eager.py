"""Coroutines without a task: what they give, and that what waits goes on in a task."""

import asyncio

import pytest

from readapi.http import eager
from readapi.http.eager import Paused


async def test_a_coroutine_that_waits_for_nothing_gives_its_result() -> None:
    async def add(one: int) -> int:
        return one + 1

    async def twice() -> int:
        return await add(await add(1))

    assert eager.start(twice()) == 3


async def test_what_waits_goes_on_in_a_task() -> None:
    tasks: list[object] = []
    ready = asyncio.get_running_loop().create_future()

    async def work() -> str:
        tasks.append(_task())
        found = await asyncio.shield(ready)
        tasks.append(_task())
        async with asyncio.timeout(10):
            await asyncio.sleep(0)
        return str(found)

    def begin() -> None:
        begun.append(eager.start(work()))

    begun: list[str | Paused[str]] = []
    asyncio.get_running_loop().call_soon(begin)
    await asyncio.sleep(0)
    rest = begun[0]
    assert isinstance(rest, Paused)
    ready.set_result("done")

    async def go_on() -> str:
        return await rest

    finishing = asyncio.create_task(go_on())
    assert await finishing == "done"
    assert tasks == [None, finishing]


async def test_errors_and_cancellations_reach_the_coroutine() -> None:
    seen: list[type[BaseException]] = []

    async def wait() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        except BaseException as error:
            seen.append(type(error))
            raise

    rest = eager.start(wait())
    assert isinstance(rest, Paused)

    async def go_on() -> None:
        await rest

    task = asyncio.create_task(go_on())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == [asyncio.CancelledError]

    async def fail() -> None:
        raise ValueError("at once")

    with pytest.raises(ValueError, match="at once"):
        eager.start(fail())


async def test_in_task_waits_only_where_there_is_none() -> None:
    async def current() -> object:
        await eager.in_task()
        return _task()

    found: list[object] = []
    asyncio.get_running_loop().call_soon(lambda: found.append(eager.start(current())))
    await asyncio.sleep(0)

    assert await current() is _task()
    assert isinstance(found[0], Paused)
    assert await found[0] is _task()


def _task() -> object:
    return asyncio.current_task()
