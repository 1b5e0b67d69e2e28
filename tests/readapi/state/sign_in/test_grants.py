"""Grants are stored sealed, replaced only by whoever read them last, and forgotten when nobody uses them."""

import base64

from sqlalchemy import select

from readapi.state.db.tables import metadata
from readapi.state.sign_in.authorization_requests import AuthorizationPurpose, AuthorizationRequest
from readapi.state.sign_in.exchange_tokens import ExchangeToken
from readapi.state.sign_in.grants import Held
from readapi.state.state import State, open_state
from schemas.settings import Settings
from tests.readapi.state.people import HandClock, account, flight, grant, tokens


async def held(state: State) -> Held:
    found = await state.grants.find(await state.grants.add(grant()))
    assert found is not None
    return found


async def test_a_grant_comes_back_as_it_was_stored(state: State) -> None:
    """Scopes, times and keys included."""
    assert (await held(state)).grant == grant()


async def test_new_tokens_replace_those_that_were_read(state: State) -> None:
    """Whoever read the grant before that replaces nothing any more."""
    before = await held(state)

    assert await state.grants.replace_tokens(before, tokens(2))
    assert not await state.grants.replace_tokens(before, tokens(3))
    assert not await state.grants.end(before, "Too late.")

    after = await state.grants.find(before.id)
    assert after is not None
    assert after.grant is not None
    assert after.grant.tokens == tokens(2)


async def test_an_ended_grant_keeps_its_reason_and_no_secret(state: State) -> None:
    """Nothing is left that could be stolen."""
    before = await held(state)

    await state.grants.end(before, "Your server has taken the grant back.")

    after = await state.grants.find(before.id)
    assert after is not None
    assert (after.grant, after.ended_because) == (None, "Your server has taken the grant back.")


async def test_grants_that_nobody_uses_are_told(state: State, clock: HandClock) -> None:
    """An hour after they were made, when whatever was to use them would."""
    used, unused = await account(state), await state.grants.add(grant())
    await state.sessions.begin(used)

    early = await state.grants.forgotten()
    clock.forward(minutes=61)

    assert early == []
    assert await state.grants.forgotten() == [unused]
    for grant_id in (used.grant_id, unused):
        await state.grants.remove(grant_id)
    assert await state.grants.find(used.grant_id) is not None
    assert await state.grants.find(unused) is None


async def test_resealing_makes_an_old_key_dispensable(state_settings: Settings) -> None:
    """Nobody is signed out by a rotation."""
    old, new = (base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2))
    async with open_state(state_settings.model_copy(update={"secret_keys": (old,)})) as state:
        grant_id = await state.grants.add(grant())

    async with open_state(state_settings.model_copy(update={"secret_keys": (new, old)})) as state:
        resealed = [await state.grants.reseal() for _ in range(2)]

    async with open_state(state_settings.model_copy(update={"secret_keys": (new,)})) as state:
        found = await state.grants.find(grant_id)
    assert resealed == [1, 0]
    assert found is not None
    assert found.grant == grant()


async def test_no_secret_can_be_read_in_the_database(state: State) -> None:
    """Not in any column of any row; nor does a printed value show one."""
    mara = await account(state)
    departure = AuthorizationRequest(flight(), AuthorizationPurpose("sign_in"))
    await state.flights.put(departure)
    exchange = await state.exchanges.put(
        ExchangeToken(mara.did, mara.handle, mara.grant_id, AuthorizationPurpose("sign_in"))
    )
    session_id = await state.sessions.begin(mara)
    token, _ = await state.developer_tokens.create(mara, "notebook")
    handed_out = (departure.flight.state, exchange, session_id, token)
    sealed = ("access-token-1", "refresh-token-1", "private-dpop-key", "pkce-verifier")

    async with state.database.reading() as connection:
        rows = [
            tuple(row)
            for table in metadata.sorted_tables
            for row in (await connection.execute(select(table))).all()
        ]

    stored = b"\n".join(
        value if isinstance(value, bytes) else str(value).encode() for row in rows for value in row
    )
    assert len(rows) == 6
    for secret in (*handed_out, *sealed):
        assert secret.encode() not in stored
    printed = repr((departure, grant(), await state.sessions.find(session_id)))
    assert not any(secret in printed for secret in (*handed_out, *sealed))
