"""Developer tokens: made with a grant of their own, shown once, used, listed, revoked."""

from datetime import UTC, datetime, timedelta

import pytest

from readapi.state.sign_in.grants import Held
from readapi.state.state import State, open_state
from schemas.settings import Settings
from tests.network.person import Person
from tests.network.testnet import Testnet
from tests.readapi.door import Door

pytestmark = pytest.mark.network


async def listed(door: Door, session: str) -> list[dict[str, str | None]]:
    reply = await door.ask("GET", "/auth/developer-tokens", session=session)
    assert reply.status == 200, reply.json
    tokens: list[dict[str, str | None]] = reply.json["tokens"]
    return tokens


async def grant_of(state: State, token: str) -> Held:
    found = await state.developer_tokens.find(token)
    assert found is not None
    held = await state.grants.find(found.grant_id)
    assert held is not None
    return held


async def test_a_token_is_made_shown_once_and_used(door: Door, person: Person) -> None:
    """It says who asks as a session does, and is listed by how it begins."""
    session = await door.sign_in(person)
    asked = {"name": " radio ", "expires_in_days": 30}
    started = await door.ask("POST", "/auth/developer-token/start", asked, session)
    shown = await door.exchange(await door.arrive(person, started.json["auth_url"]), session)
    token = shown.json["token"]

    me = await door.me(token)
    [row] = await listed(door, session)

    assert shown.json.keys() == {"token", "name", "expires_at"}
    assert "Set-Cookie" not in shown.headers
    assert (me.json["did"], me.json["linked_accounts"]) == (person.account.did, [])
    assert row["name"] == shown.json["name"] == "radio"
    assert row["prefix"] == token[:12]
    assert row["last_used_at"]
    life = datetime.fromisoformat(shown.json["expires_at"]) - datetime.now(UTC)
    assert timedelta(days=29, hours=23) < life <= timedelta(days=30)
    assert token not in str(row)


async def test_a_token_is_shown_only_to_the_session_that_began_it(door: Door, person: Person) -> None:
    """Neither to nobody nor to another session of the same person, whose tries do not use it up; and once."""
    session, other = await door.sign_in(person), await door.sign_in(person)
    started = await door.ask("POST", "/auth/developer-token/start", {"name": "radio"}, session)
    token = await door.arrive(person, started.json["auth_url"])

    refused = [await door.exchange(token), await door.exchange(token, other)]
    before = await listed(door, session)
    made = await door.exchange(token, session)
    refused.append(await door.exchange(token, session))

    assert [(reply.status, reply.json["detail"]) for reply in refused] == [(401, "not_authenticated")] * 3
    assert (before, made.status, made.json["name"]) == ([], 200, "radio")
    assert len(await listed(door, session)) == 1


async def test_a_token_lives_half_a_year_unless_told_otherwise(door: Door, person: Person) -> None:
    """180 days; one to 365 may be asked for, and a name is needed."""
    session = await door.sign_in(person)
    await door.make_token(person, session)

    [row] = await listed(door, session)
    wrong = [
        await door.ask("POST", "/auth/developer-token/start", sent, session)
        for sent in (
            {"name": "x", "expires_in_days": 366},
            {"name": "x", "expires_in_days": 0},
            {"name": " "},
            {},
        )
    ]

    life = datetime.fromisoformat(str(row["expires_at"])) - datetime.fromisoformat(str(row["created_at"]))
    assert life == timedelta(days=180)
    assert [reply.status for reply in wrong] == [422] * 4
    assert [reply.json["errors"][0]["field"] for reply in wrong] == ["expires_in_days"] * 2 + ["name"] * 2


@pytest.mark.slow
async def test_revoking_a_token_ends_it_here_and_at_its_server(door: Door, person: Person) -> None:
    """The session that made it, and other tokens, go on."""
    session = await door.sign_in(person)
    first, second = [await door.make_token(person, session, name) for name in ("first", "second")]
    ids = {row["name"]: row["id"] for row in await listed(door, session)}
    assert len(await person.agreements()) == 3

    revoked = await door.ask("DELETE", f"/auth/developer-tokens/{ids['first']}", session=session)

    assert revoked.status == 204
    assert [(await door.me(secret)).status for secret in (first, second, session)] == [401, 200, 200]
    assert len(await person.agreements()) == 2
    assert [row["name"] for row in await listed(door, session)] == ["second"]


async def test_signing_out_leaves_tokens_alone(door: Door, person: Person) -> None:
    """They hold grants of their own; so a token's end is not the session's either."""
    session = await door.sign_in(person)
    token = await door.make_token(person, session)

    await door.ask("POST", "/auth/logout", session=session)

    assert (await door.me(token)).status == 200


async def test_tokens_are_for_programs_not_for_managing_accounts(door: Door, person: Person) -> None:
    """Whoever finds one cannot make another, nor touch sessions."""
    session = await door.sign_in(person)
    token = await door.make_token(person, session)
    [row] = await listed(door, session)

    refused = [
        await door.ask("POST", "/auth/developer-token/start", {"name": "more"}, token),
        await door.ask("DELETE", f"/auth/developer-tokens/{row['id']}", session=token),
        await door.ask("POST", "/auth/logout", session=token),
        await door.ask("POST", "/auth/scope-upgrade/start", session=token),
    ]

    assert [(reply.status, reply.json["detail"]) for reply in refused] == [(401, "not_authenticated")] * 4
    assert await listed(door, token) == await listed(door, session)


async def test_nobody_sees_or_revokes_anothers_token(net: Testnet, door: Door, person: Person) -> None:
    """404, as if it were not there."""
    other = Person(await net.pds[0].create_account(f"other-{person.account.handle}"))
    session, theirs = await door.sign_in(person), await door.sign_in(other)
    token = await door.make_token(person, session)
    [row] = await listed(door, session)

    refused = await door.ask("DELETE", f"/auth/developer-tokens/{row['id']}", session=theirs)

    assert refused.status == 404
    assert await listed(door, theirs) == []
    assert (await door.me(token)).status == 200


async def test_a_token_whose_grant_ended_says_why(
    door: Door, state_settings: Settings, person: Person
) -> None:
    """To whoever uses it, and in the list; the session that made it goes on."""
    session = await door.sign_in(person)
    token = await door.make_token(person, session)
    async with open_state(state_settings) as state:
        await state.grants.end(await grant_of(state, token), "Your server has taken the grant back.")

    refused = await door.me(token)
    [row] = await listed(door, session)

    assert (refused.status, refused.json["detail"]) == (401, "session_expired")
    assert refused.json["message"] == row["ended_because"] == "Your server has taken the grant back."
    assert (await door.me(session)).status == 200
