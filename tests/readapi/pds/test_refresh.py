"""A grant is refreshed when it is due, once, and ends only when its server says so."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from readapi.oauth.errors import Unavailable
from readapi.oauth.grant import Tokens
from readapi.pds.grants import Ended, Grants
from readapi.pds.refresh import PAUSES, TokenRefresh
from readapi.pds.revocation import Revocation
from readapi.state.db.advisory_locks import GRACE_SECONDS
from readapi.state.sign_in.grants import GrantId, Held
from readapi.state.state import State, open_state
from schemas.ids import Handle
from schemas.settings import Settings
from tests.postgres import new_database, running_postgres
from tests.readapi.state.people import BEN, HandClock, account, grant
from tests.readapi.token_server import TokenClient, TokenServer


@pytest.fixture
async def server() -> AsyncIterator[TokenServer]:
    async with TokenServer() as started:
        yield started


@pytest.fixture
def client(server: TokenServer) -> TokenClient:
    return TokenClient(server.url)


@pytest.fixture
def renewal(state: State, client: TokenClient, clock: HandClock) -> TokenRefresh:
    return TokenRefresh(state.grants, state.locks, client, clock)


@pytest.fixture
def grants(state: State, renewal: TokenRefresh, clock: HandClock) -> Grants:
    """Renewed in this very process."""
    return Grants(state.grants, renewal, clock)


@pytest.fixture
async def grant_id(state: State) -> GrantId:
    """Of a grant that is fresh for an hour."""
    return await state.grants.add(grant())


async def test_a_fresh_grant_asks_nobody(grants: Grants, grant_id: GrantId, server: TokenServer) -> None:
    """Its tokens are those that were stored."""
    assert await grants.fresh(grant_id) == grant()
    assert server.used == []


async def test_a_grant_about_to_expire_is_refreshed(
    grants: Grants, grant_id: GrantId, server: TokenServer, clock: HandClock
) -> None:
    """What the server answers is stored: the next call finds it."""
    clock.forward(minutes=59)

    refreshed = [await grants.fresh(grant_id) for _ in range(2)]

    assert [one.tokens.access_token for one in refreshed] == ["access-token-2"] * 2
    assert refreshed[0].dpop_key == grant().dpop_key
    assert server.used == ["refresh-token-1"]


async def test_a_refresh_notes_by_what_handle_somebody_goes(
    state: State, grants: Grants, client: TokenClient, clock: HandClock
) -> None:
    """In all their sessions and tokens; while nobody can say, the one that is known stays."""
    mara, ben = await account(state), await account(state, BEN)
    of_mara, of_ben = [await state.sessions.begin(one) for one in (mara, ben)]
    await state.developer_tokens.create(mara, "notebook")
    clock.forward(hours=1)

    await grants.fresh(mara.grant_id)
    before = await state.sessions.find(of_mara)
    client.called = Handle("mara.music.example")
    await grants.fresh(mara.grant_id, refused="access-token-2")

    assert before is not None
    assert before.handle == "mara.example"
    found = [await state.sessions.find(session) for session in (of_mara, of_ben)]
    assert [one.handle for one in found if one] == ["mara.music.example", "ben.example"]
    assert [token.handle for token in await state.developer_tokens.of(mara.did)] == ["mara.music.example"]


async def test_a_refused_access_token_is_replaced_once(
    grants: Grants, grant_id: GrantId, server: TokenServer
) -> None:
    """However many calls were refused with it, at once or later."""
    calls = (grants.fresh(grant_id, refused="access-token-1") for _ in range(20))

    refreshed = await asyncio.gather(*calls)
    late = await grants.fresh(grant_id, refused="access-token-1")

    assert {one.tokens.access_token for one in [*refreshed, late]} == {"access-token-2"}
    assert server.used == ["refresh-token-1"]


async def test_a_refused_grant_has_ended(
    state: State, grants: Grants, server: TokenServer, clock: HandClock
) -> None:
    """It says why, asks no more, and the session that used it can still be found."""
    mara = await account(state)
    session_id = await state.sessions.begin(mara)
    server.revoked = True
    clock.forward(hours=1)

    for _ in range(2):
        with pytest.raises(Ended, match="has taken the grant back"):
            await grants.fresh(mara.grant_id)

    session = await state.sessions.find(session_id)
    assert session is not None
    assert session.ended_because == "Your server has taken the grant back."


async def test_a_server_that_is_down_ends_nothing(
    grants: Grants, grant_id: GrantId, server: TokenServer, clock: HandClock
) -> None:
    """The old token serves as long as it lasts, and the grant goes on when the server does."""
    server.down = True
    clock.forward(minutes=59, seconds=30)

    assert await grants.fresh(grant_id) == grant()
    clock.forward(seconds=30)
    with pytest.raises(Unavailable):
        await grants.fresh(grant_id)
    server.down = False

    assert (await grants.fresh(grant_id)).tokens.access_token == "access-token-2"


async def test_a_request_that_is_given_up_stops_no_refresh(
    grants: Grants, grant_id: GrantId, server: TokenServer, clock: HandClock
) -> None:
    """Once a server was asked, its answer is stored."""
    server.hold_seconds = 0.2
    clock.forward(hours=1)
    request = asyncio.create_task(grants.fresh(grant_id))
    await server.asked.wait()

    request.cancel()
    await grants.close()

    assert (await grants.fresh(grant_id, refused="access-token-1")).tokens.access_token == "access-token-2"
    assert server.used == ["refresh-token-1"]


async def test_a_slow_server_is_waited_for_by_nobody_and_asked_once(
    state: State, renewal: TokenRefresh, grant_id: GrantId, server: TokenServer, clock: HandClock
) -> None:
    """Whoever asks is told to come back; what the server answers at last is stored."""
    grants = Grants(state.grants, renewal, clock, patience_seconds=0.05)
    server.hold_seconds = 0.3
    clock.forward(hours=1)

    for _ in range(2):
        with pytest.raises(Unavailable):
            await grants.fresh(grant_id)
    await grants.close()

    assert (await grants.fresh(grant_id, refused="access-token-1")).tokens.access_token == "access-token-2"
    assert server.used == ["refresh-token-1"]


async def test_a_revoked_grant_is_gone(
    state: State, renewal: TokenRefresh, grants: Grants, grant_id: GrantId, server: TokenServer
) -> None:
    """Here and at its server; revoking it again does nothing."""
    await renewal.revoke(grant_id)
    await renewal.revoke(grant_id)

    assert server.revoked
    assert await state.grants.find(grant_id) is None
    with pytest.raises(Ended, match="signed out"):
        await grants.fresh(grant_id)


async def test_a_grant_whose_server_is_down_is_revoked_later(
    state: State, renewal: TokenRefresh, grant_id: GrantId, server: TokenServer, clock: HandClock
) -> None:
    """Until then it is among the forgotten."""
    server.down = True
    await renewal.revoke(grant_id)
    server.down = False
    clock.forward(hours=2)

    await Revocation(state, renewal).sweep()

    assert server.revoked
    assert await state.grants.find(grant_id) is None


@pytest.mark.slow
async def test_a_server_that_never_comes_back_is_given_up(
    state: State, renewal: TokenRefresh, server: TokenServer, clock: HandClock
) -> None:
    """After three days from the first attempt; however many grants there are, they are tried together."""
    grant_ids = [await state.grants.add(grant()) for _ in range(40)]
    sweeper = Revocation(state, renewal)
    server.down = True
    left = []
    for hours in (2, 71, 1):
        clock.forward(hours=hours)
        await sweeper.sweep()
        left.append(len(await state.grants.forgotten()))

    assert left == [40, 40, 0]
    assert [await state.grants.find(grant_id) for grant_id in grant_ids] == [None] * 40


async def test_the_grant_of_an_expired_token_is_given_back(
    state: State, renewal: TokenRefresh, server: TokenServer, clock: HandClock
) -> None:
    """The token stays in its owner's list until they take it away; then nothing is left."""
    mara = await account(state)
    await state.developer_tokens.create(mara, "notebook", days=1)
    sweeper = Revocation(state, renewal)
    clock.forward(hours=23)
    await sweeper.sweep()
    early = server.revoked

    clock.forward(hours=1)
    await sweeper.sweep()

    assert (early, server.revoked) == (False, True)
    [token] = await state.developer_tokens.of(mara.did)
    held = await state.grants.find(mara.grant_id)
    assert token.ended_because == "This developer token has expired."
    assert held is not None
    assert held.grant is None
    assert await state.grants.forgotten() == []
    await state.developer_tokens.remove(mara.did, token.id)
    await sweeper.sweep()
    assert await state.grants.find(mara.grant_id) is None


@pytest.mark.slow
async def test_a_restart_of_the_database_costs_no_grant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends the lock under which one process waits for a server; the next one does not ask it again."""
    clock, can_commit = HandClock(), asyncio.Event()
    with running_postgres() as postgres:
        settings = Settings(data_dir=tmp_path, state_url=await new_database(postgres.address, "state"))
        async with (
            TokenServer() as server,
            open_state(settings, clock) as one,
            open_state(settings, clock) as other,
        ):
            replace = one.grants.replace_tokens

            async def replace_once_possible(held: Held, tokens: Tokens) -> bool:
                if not can_commit.is_set():
                    raise OSError
                return await replace(held, tokens)

            monkeypatch.setattr(one.grants, "replace_tokens", replace_once_possible)
            first, second = (
                TokenRefresh(state.grants, state.locks, TokenClient(server.url), clock)
                for state in (one, other)
            )
            grant_id = await one.grants.add(grant())
            tasks = [asyncio.create_task(first.renew(grant_id, "access-token-1"))]
            await server.asked.wait()
            await asyncio.to_thread(postgres.stop)
            await asyncio.to_thread(postgres.start)
            tasks.append(asyncio.create_task(second.renew(grant_id, "access-token-1")))
            await asyncio.sleep(1.5)
            can_commit.set()
            await asyncio.gather(*tasks)
    assert not server.revoked
    assert server.used == ["refresh-token-1"]
    assert max(PAUSES) < GRACE_SECONDS / 2
