"""A lock has one holder at a time, wherever they are, and those of different names do not meet."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import SQLAlchemyError

from readapi.state.db import advisory_locks
from readapi.state.db.advisory_locks import Advisory
from readapi.state.db.away import LockLost
from readapi.state.db.database import CONNECTIONS
from readapi.state.state import State, open_state
from schemas.settings import Settings

MANY = [f"grant {number}" for number in range(4 * CONNECTIONS)]
SOON_SECONDS = 5.0
A_WHILE_SECONDS = 0.1


@pytest.fixture
async def other(state: State, state_settings: Settings) -> AsyncIterator[State]:
    """The same state as another process has it."""
    async with open_state(state_settings) as opened:
        yield opened


async def is_free(state: State, name: str, seconds: float = SOON_SECONDS) -> bool:
    try:
        async with asyncio.timeout(seconds), state.locks.holding(name):
            return True
    except TimeoutError:
        return False


async def test_a_lock_is_held_by_one(state: State, other: State) -> None:
    """Neither this process nor another gets it meanwhile; afterwards both do."""
    async with state.locks.holding("grant 1"):
        held = [await is_free(one, "grant 1", A_WHILE_SECONDS) for one in (state, other)]
        elsewhere = await is_free(other, "grant 2")

    assert held == [False, False]
    assert elsewhere
    assert await is_free(state, "grant 1")
    assert await is_free(other, "grant 1")


async def test_those_who_wait_get_it_one_after_the_other(state: State, other: State) -> None:
    """However many there are, also when some give up."""
    inside = most = 0

    async def hold(one: State) -> None:
        nonlocal inside, most
        async with one.locks.holding("grant 1"):
            inside += 1
            most = max(most, inside)
            try:
                await asyncio.sleep(0.001)
            finally:  # one that gives up here has had it
                inside -= 1

    waiting = [asyncio.create_task(hold(one)) for one in (state, other) * 6]
    await asyncio.sleep(0.01)
    for task in waiting[2::3]:
        task.cancel()
    async with asyncio.timeout(SOON_SECONDS):
        await asyncio.gather(*waiting, return_exceptions=True)

    assert most == 1
    assert await is_free(state, "grant 1")
    assert await is_free(other, "grant 1")


@pytest.mark.parametrize("state_settings", ["postgresql"], indirect=True)
async def test_any_number_is_held_at_once(state: State, other: State) -> None:
    """More than there are connections: so many slow servers keep nobody from theirs."""
    async with AsyncExitStack() as held, asyncio.timeout(SOON_SECONDS):
        for name in MANY:
            await held.enter_async_context(state.locks.holding(name))

        assert await is_free(state, "another")
        assert not await is_free(other, MANY[-1], A_WHILE_SECONDS)
        assert await state.is_reachable()


async def cut_connections(state: State) -> None:
    """End each connection that holds a lock, as a restarted proxy in between does."""
    async with state.database.writing() as connection:
        await connection.execute(
            text("select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'")
        )


@pytest.mark.parametrize("state_settings", ["postgresql"], indirect=True)
async def test_locks_outlive_a_lost_connection(
    state: State, other: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was held is free for others, and what is wanted afterwards is had, after a while."""
    monkeypatch.setattr(advisory_locks, "GRACE_SECONDS", 2 * A_WHILE_SECONDS)

    async def hold() -> None:
        async with state.locks.holding("grant 1"):
            await cut_connections(other)
            await asyncio.sleep(SOON_SECONDS)

    with pytest.raises(LockLost):
        await hold()
    assert await is_free(other, "grant 1")

    assert not await is_free(state, "grant 2", A_WHILE_SECONDS)
    assert await is_free(state, "grant 2")
    assert await is_free(other, "grant 1")


@pytest.mark.parametrize("state_settings", ["postgresql"], indirect=True)
async def test_a_holder_whose_connection_is_lost_does_no_more(
    state: State, other: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that it holds is interrupted before another process, which may take it at once, has it."""
    monkeypatch.setattr(advisory_locks, "GRACE_SECONDS", 0)
    at_work: list[str] = []

    async def work(name: str) -> None:
        async with state.locks.holding(name):
            while True:
                at_work.append(name)
                await asyncio.sleep(0.001)

    names = ["grant 1", "grant 2"]
    working = [asyncio.create_task(work(name)) for name in names]
    async with asyncio.timeout(SOON_SECONDS):
        while set(at_work) != set(names):  # noqa: ASYNC110  # the shortest way to wait here
            await asyncio.sleep(0.001)
    await cut_connections(other)
    for name in names:
        async with other.locks.holding(name):
            done = len(at_work)
            await asyncio.sleep(A_WHILE_SECONDS)
            assert len(at_work) == done

    assert [type(one) for one in await asyncio.gather(*working, return_exceptions=True)] == [LockLost] * 2
    async with state.locks.holding("grant 1"):
        assert await state.locks.is_held("grant 1")


@pytest.mark.parametrize("state_settings", ["postgresql"], indirect=True)
async def test_a_holder_can_ask_whether_it_still_holds_a_lock(state: State, other: State) -> None:
    """Of those that others hold it does not."""
    async with state.locks.holding("grant 1"):
        assert [await one.locks.is_held("grant 1") for one in (state, other)] == [True, False]
        assert not await state.locks.is_held("grant 2")


@pytest.fixture
def advisory(state: State, monkeypatch: pytest.MonkeyPatch) -> Advisory:
    """The locks of a PostgreSQL state by number, without the wait after its start."""
    monkeypatch.setattr(advisory_locks, "GRACE_SECONDS", 0)
    assert state.database.advisory is not None
    return state.database.advisory


@pytest.mark.parametrize("state_settings", ["postgresql"], indirect=True)
async def test_who_is_cancelled_while_asking_for_a_lock_leaves_nothing_behind(
    state: State, other: State, advisory: Advisory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock it got is released, and the other holders are still interrupted when the connection ends."""
    inside = asyncio.Event()

    async def hold(number: int) -> None:
        async with advisory.holding(number):
            inside.set()
            await asyncio.sleep(SOON_SECONDS)

    assert not await advisory.is_held(1)  # connected
    with monkeypatch.context() as patched:
        slow = select(func.pg_sleep(A_WHILE_SECONDS)).scalar_subquery()
        patched.setattr(advisory_locks, "select", lambda question: select(question, slow))
        asking = asyncio.create_task(hold(1))
        await asyncio.sleep(A_WHILE_SECONDS / 2)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert not inside.is_set()
    assert not await advisory.is_held(1)
    assert advisory._link is not None
    assert not advisory._link.holds

    holding = asyncio.create_task(hold(2))
    async with asyncio.timeout(SOON_SECONDS):
        await inside.wait()
        await cut_connections(other)
        with pytest.raises(LockLost):
            await holding
        async with advisory.holding(2):
            assert await advisory.is_held(2)


@pytest.mark.parametrize("state_settings", ["postgresql"], indirect=True)
async def test_every_holder_is_interrupted_also_beside_one_that_cannot_be(
    state: State, other: State, advisory: Advisory
) -> None:
    """As one is whose block was left already."""
    inside: list[int] = []

    async def hold(number: int) -> None:
        async with advisory.holding(number):
            inside.append(number)
            await asyncio.sleep(SOON_SECONDS)

    holding = [asyncio.create_task(hold(number)) for number in range(3)]
    async with asyncio.timeout(SOON_SECONDS):
        while len(inside) < len(holding):  # noqa: ASYNC110  # the shortest way to wait here
            await asyncio.sleep(0.001)
        assert advisory._link is not None
        advisory._link.holds = {advisory_locks._Hold(), *advisory._link.holds, advisory_locks._Hold()}
        await cut_connections(other)
        ended = await asyncio.gather(*holding, return_exceptions=True)
    assert [type(one) for one in ended] == [LockLost] * len(holding)


@pytest.mark.parametrize("state_settings", ["postgresql"], indirect=True)
async def test_a_connection_that_fails_at_once_is_given_back(
    state: State, advisory: Advisory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is one in all: the next try would wait for it."""
    await advisory.close()
    with monkeypatch.context() as patched:
        patched.setattr(advisory_locks, "_SERVER_AGE", text("1 / 0"))
        with pytest.raises(SQLAlchemyError, match="division by zero"):
            await advisory.is_held(1)
        async with asyncio.timeout(SOON_SECONDS):
            with pytest.raises(SQLAlchemyError, match="division by zero"):
                await advisory.is_held(1)
    async with asyncio.timeout(SOON_SECONDS), advisory.holding(1):
        assert await advisory.is_held(1)
