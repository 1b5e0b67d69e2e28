"""Several accounts in one session: added, switched between, dropped."""

import pytest

from tests.network.person import Person
from tests.network.testnet import Testnet
from tests.readapi.door import Door

pytestmark = pytest.mark.network


@pytest.fixture
async def other(net: Testnet, person: Person) -> Person:
    return Person(await net.pds[0].create_account(f"other-{person.account.handle}"))


async def add(door: Door, session: str, person: Person) -> str:
    """Begin to add an account; returns the exchange token."""
    wanted = {"handle": person.account.handle}
    started = await door.ask("POST", "/auth/add-account/start", wanted, session)
    assert started.status == 200, started.json
    return await door.arrive(person, started.json["auth_url"])


async def active(door: Door, session: str) -> dict[str, bool]:
    me = await door.me(session)
    assert me.status == 200, me.json
    [one] = [account["did"] for account in me.json["linked_accounts"] if account["active"]]
    assert one == me.json["did"]
    return {account["did"]: account["active"] for account in me.json["linked_accounts"]}


async def test_accounts_are_added_switched_and_dropped(door: Door, person: Person, other: Person) -> None:
    """The one added is active; whoever is dropped is signed out at their server; the session id stays."""
    session = await door.sign_in(person)
    mine, theirs = person.account.did, other.account.did

    added = await door.exchange(await add(door, session, other), session)
    assert added.json["session_id"] == session
    assert await active(door, session) == {mine: False, theirs: True}

    switched = await door.ask("POST", "/auth/switch-account", {"target_did": mine}, session)
    assert switched.json == {"did": mine, "handle": person.account.handle, "session_id": session}
    assert await active(door, session) == {mine: True, theirs: False}

    dropped = await door.ask("DELETE", f"/auth/accounts/{mine}", session=session)
    assert dropped.status == 204
    assert "Set-Cookie" not in dropped.headers
    assert await active(door, session) == {theirs: True}
    assert await person.agreements() == []
    assert len(await other.agreements()) == 1

    last = await door.ask("DELETE", f"/auth/accounts/{theirs}", session=session)
    assert last.status == 204
    assert last.headers["Set-Cookie"].startswith("session_id=; Max-Age=0")
    assert (await door.me(session)).status == 401


async def test_only_linked_accounts_can_be_switched_to_or_dropped(
    door: Door, person: Person, other: Person
) -> None:
    """Anybody else's is none that this session knows of."""
    session = await door.sign_in(person)
    await door.sign_in(other)

    switched = await door.ask("POST", "/auth/switch-account", {"target_did": other.account.did}, session)
    dropped = await door.ask("DELETE", f"/auth/accounts/{other.account.did}", session=session)

    assert (switched.status, dropped.status) == (404, 404)
    assert len(await other.agreements()) == 1


async def test_an_account_is_linked_only_into_the_session_that_asked(
    door: Door, person: Person, other: Person
) -> None:
    """Nobody can be led to agree, and so be added to somebody else's accounts."""
    session, theirs = await door.sign_in(person), await door.sign_in(other)
    tokens = [await add(door, session, other) for _ in range(2)]

    refused = [await door.exchange(tokens[0], theirs), await door.exchange(tokens[1])]

    assert [(reply.status, reply.json["detail"]) for reply in refused] == [(401, "not_authenticated")] * 2
    assert await active(door, session) == {person.account.did: True}
    assert await active(door, theirs) == {other.account.did: True}
