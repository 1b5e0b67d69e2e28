"""Several accounts can be linked in one session; one of them is active."""

import asyncio

import pytest

from readapi.state.db.one_time import key_of
from readapi.state.sign_in.linked_accounts import Account
from readapi.state.state import State
from schemas.ids import Did
from tests.readapi.state.people import BEN, MARA, HandClock, account


async def linked(state: State, key: bytes) -> list[tuple[Did, bool]]:
    return [(one.did, one.active) for one in await state.accounts.of(key)]


@pytest.fixture
async def key(state: State, clock: HandClock) -> bytes:
    """The key of Mara's session, a minute after it began."""
    session_id = await state.sessions.begin(await account(state, MARA))
    clock.forward(minutes=1)
    return key_of(session_id)


async def test_a_linked_account_becomes_active(state: State, key: bytes) -> None:
    """And can be left for the first again, never for one that is not linked."""
    assert await state.accounts.link(key, await account(state, BEN)) is None
    assert await linked(state, key) == [(MARA, False), (BEN, True)]

    switched = await state.accounts.switch(key, MARA)
    assert switched is not None
    assert (switched.did, switched.active) == (MARA, True)
    assert await state.accounts.switch(key, Did("did:plc:nobody")) is None

    assert await linked(state, key) == [(MARA, True), (BEN, False)]


async def test_linking_an_account_again_replaces_its_grant(state: State, key: bytes) -> None:
    """The old grant is told, to be revoked: so a scope upgrade ends."""
    [before] = await state.accounts.of(key)
    again: Account = await account(state, MARA)

    replaced = await state.accounts.link(key, again)

    assert replaced == before.grant_id
    assert [one.grant_id for one in await state.accounts.of(key)] == [again.grant_id]


async def test_dropping_the_active_account_activates_the_longest_linked(state: State, key: bytes) -> None:
    """With the last account the session ends."""
    ben = await account(state, BEN)
    await state.accounts.link(key, ben)

    assert await state.accounts.drop(key, BEN) == ben.grant_id
    assert await state.accounts.drop(key, BEN) is None
    assert await linked(state, key) == [(MARA, True)]
    await state.accounts.drop(key, MARA)

    assert await state.accounts.of(key) == []
    assert await state.sessions.end(key) == []


async def test_whatever_happens_at_once_a_session_has_an_active_account(state: State, key: bytes) -> None:
    """Nobody switches to an account while it is dropped, nor is left with one that is not there."""
    for _ in range(8):
        await state.accounts.link(key, await account(state, BEN))
        await state.accounts.switch(key, MARA)

        await asyncio.gather(
            *(state.accounts.switch(key, BEN) for _ in range(3)), state.accounts.drop(key, BEN)
        )

        assert await linked(state, key) == [(MARA, True)]


async def test_nothing_can_be_linked_to_a_session_that_ended(state: State, key: bytes) -> None:
    """It may end while somebody is away at their server."""
    await state.sessions.end(key)

    with pytest.raises(LookupError):
        await state.accounts.link(key, await account(state, BEN))

    assert await state.accounts.of(key) == []
