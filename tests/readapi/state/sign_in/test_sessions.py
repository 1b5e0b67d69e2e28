"""Sessions are found by their secret, live two weeks from their last use, and end for good."""

from readapi.state.sign_in.sessions import EXPIRED, Session
from readapi.state.state import State
from tests.readapi.state.people import SCOPES, HandClock, account


async def find(state: State, session_id: str) -> Session:
    found = await state.sessions.find(session_id)
    assert found is not None
    return found


async def test_a_session_knows_its_account_and_what_was_granted(state: State) -> None:
    """Everything that a request needs, in one question."""
    mara = await account(state)

    session = await find(state, await state.sessions.begin(mara))

    assert (session.did, session.handle, session.grant_id) == (mara.did, mara.handle, mara.grant_id)
    assert session.scopes == SCOPES
    assert session.ended_because is None
    assert await state.sessions.find("x" * 43) is None
    assert await state.sessions.find("\udcff") is None


async def test_use_renews_a_session(state: State, clock: HandClock) -> None:
    """Thirteen days three times is more than two weeks."""
    session_id = await state.sessions.begin(await account(state))

    for _ in range(3):
        clock.forward(days=13)
        session = await find(state, session_id)

    assert session.ended_because is None
    assert (session.expires_at - clock()).days == 14


async def test_a_session_is_renewed_once_an_hour_at_most(state: State, clock: HandClock) -> None:
    """Requests within the hour write nothing."""
    session_id = await state.sessions.begin(await account(state))
    first = await find(state, session_id)

    clock.forward(minutes=59)
    second = await find(state, session_id)
    clock.forward(minutes=1)
    third = await find(state, session_id)

    assert second.expires_at == first.expires_at
    assert (third.expires_at - first.expires_at).total_seconds() == 3600


async def test_a_session_unused_for_two_weeks_has_ended(state: State, clock: HandClock) -> None:
    """It says so for two weeks more, is not renewed, and then is forgotten with its grants told."""
    mara = await account(state)
    session_id = await state.sessions.begin(mara)

    clock.forward(days=14)
    assert (await find(state, session_id)).ended_because == EXPIRED
    assert await state.sessions.remove_expired() == []
    clock.forward(days=14)
    assert await state.sessions.remove_expired() == [mara.grant_id]

    assert await state.sessions.find(session_id) is None


async def test_signing_out_ends_a_session_and_tells_its_grants(state: State) -> None:
    """They are to be revoked; nobody else's session is touched."""
    mara = await account(state)
    ended, other = await state.sessions.begin(mara), await state.sessions.begin(await account(state))

    grant_ids = await state.sessions.end((await find(state, ended)).key)

    assert grant_ids == [mara.grant_id]
    assert await state.sessions.find(ended) is None
    assert await state.sessions.find(other) is not None


async def test_a_session_says_why_its_grant_ended(state: State) -> None:
    """The account stays linked: signing in again is all that is needed."""
    mara = await account(state)
    session_id = await state.sessions.begin(mara)
    held = await state.grants.find(mara.grant_id)
    assert held is not None

    await state.grants.end(held, "Your server has taken the grant back.")

    session = await find(state, session_id)
    assert session.ended_because == "Your server has taken the grant back."
    assert len(await state.accounts.of(session.key)) == 1
