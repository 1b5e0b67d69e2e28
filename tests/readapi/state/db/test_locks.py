"""A lock has one holder at a time, wherever they are, and those of different names do not meet."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from sqlalchemy import text

from readapi.state.db import advisory_locks
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


@pytest.mark.parametrize("state_settings", ["postgresql"], indirect=True)
async def test_locks_outlive_a_lost_connection(
    state: State, other: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was held is free for others, and what is wanted afterwards is had, after a while."""
    monkeypatch.setattr(advisory_locks, "GRACE_SECONDS", 2 * A_WHILE_SECONDS)
    async with state.locks.holding("grant 1"):
        async with other.database.writing() as connection:
            await connection.execute(
                text("select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'")
            )
        assert await is_free(other, "grant 1")

    assert not await is_free(state, "grant 2", A_WHILE_SECONDS)
    assert await is_free(state, "grant 2")
    assert await is_free(other, "grant 1")


@pytest.mark.parametrize("state_settings", ["postgresql"], indirect=True)
async def test_a_holder_can_learn_that_a_lock_is_lost(state: State, other: State) -> None:
    """It ended with its connection, whether another process has taken it since or not."""
    async with state.locks.holding("grant 1"), state.locks.holding("grant 2"):
        before = [await one.locks.is_held("grant 1") for one in (state, other)]
        async with other.database.writing() as connection:
            await connection.execute(
                text("select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'")
            )
        async with other.locks.holding("grant 1"):
            after = [await state.locks.is_held(name) for name in ("grant 1", "grant 2")]

    assert before == [True, False]
    assert after == [False, False]
