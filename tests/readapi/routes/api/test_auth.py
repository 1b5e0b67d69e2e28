"""Signing in over HTTP, at a real PDS: from a handle to a session, and out again."""

import asyncio
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from readapi.state.state import open_state
from schemas.collections import SCROBBLING, Collections
from schemas.settings import Settings
from tests.network.person import Person
from tests.network.testnet import Testnet
from tests.patience import PATIENCE_SECONDS
from tests.readapi.door import Door, expire, opened

pytestmark = pytest.mark.network

LIKE = f"repo:{Collections().like}"


async def test_a_program_signs_somebody_in(door: Door, person: Person) -> None:
    """JSON at every step; the session id then says who asks."""
    token = await door.arrive(person, await door.start(person))
    reply = await door.exchange(token)
    me = await door.me(reply.json["session_id"])

    assert (me.status, me.json["did"], me.json["handle"]) == (200, person.account.did, person.account.handle)
    assert set(me.json["scopes"]) == {"atproto", "blob:*/*", *Collections().scopes}
    assert me.json["linked_accounts"] == [
        {"did": person.account.did, "handle": person.account.handle, "active": True}
    ]
    assert me.headers["Cache-Control"] == "private, no-cache"
    assert reply.headers["Cache-Control"] == "no-store"


async def test_a_browser_is_led_there_and_back(net: Testnet, tmp_path, person: Person) -> None:
    """302 to the server, 303 to the web application, and a cookie that scripts cannot read."""
    origin = {"Origin": "https://app.example"}
    async with opened(net, Settings(data_dir=tmp_path), web_url="https://app.example") as door:
        start = f"/auth/start?handle={person.account.handle}"
        left = await door.ask("POST", start, Accept="text/html", **origin)
        leaving = left.headers["Set-Cookie"].partition(";")[0]
        back = await person.agree(left.headers["Location"])
        led = await door.ask("GET", f"/auth/callback?{urlencode(back)}", Accept="text/html")
        onward = urlsplit(led.headers["Location"])
        token = dict(parse_qsl(onward.query))["exchange_token"]
        sent = {"exchange_token": token}
        begun = await door.ask("POST", "/auth/exchange", sent, **origin, Cookie=leaving)
        cookie = begun.headers["Set-Cookie"]
        me = await door.ask("GET", "/auth/me", Cookie=f"theme=dark; {cookie.partition(';')[0]}")

    assert (left.status, led.status) == (302, 303)
    assert onward.netloc == "app.example"
    assert {part.strip() for part in cookie.split(";")[1:]} == {
        "HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=1209600",
    }  # fmt: skip
    assert me.json["did"] == begun.json["did"] == person.account.did
    assert begun.json["handle"] == person.account.handle


async def test_whoever_says_no_is_led_back_with_the_reason(net: Testnet, tmp_path, person: Person) -> None:
    """To the web application, or as a refusal for programs."""
    async with opened(net, Settings(data_dir=tmp_path), web_url="https://app.example") as door:
        denied = await person.refuse(await door.start(person))
        led = await door.ask("GET", f"/auth/callback?{urlencode(denied)}", Accept="text/html")
        told = await door.come_back(await Person(person.account).refuse(await door.start(person)))

    assert dict(parse_qsl(urlsplit(led.headers["Location"]).query)) == {
        "error": "access_denied",
        "error_description": "Access was denied on your server.",
    }
    assert (told.status, told.json["detail"]) == (401, "not_authenticated")


async def test_a_did_that_does_not_exist_is_not_found(net: Testnet, tmp_path) -> None:
    """404: the directory says that there is no such account."""
    async with opened(net, Settings(data_dir=tmp_path)) as door:
        reply = await door.ask("POST", "/auth/start?did=did:plc:aaaaaaaaaaaaaaaaaaaaaaaa")

    assert (reply.status, reply.json["detail"]) == (404, "not_found")


@pytest.mark.parametrize("name", ["nobody-at-all.test", "no name"])
async def test_a_name_that_is_nobodys_is_refused(net: Testnet, tmp_path, name: str) -> None:
    """422 that names the parameter."""
    async with opened(net, Settings(data_dir=tmp_path)) as door:
        reply = await door.ask("POST", f"/auth/start?{urlencode({'handle': name})}")
        missing = await door.ask("POST", "/auth/start")

    for refused in (reply, missing):
        assert (refused.status, refused.json["detail"]) == (422, "invalid_request")
        assert refused.json["errors"][0]["field"] == "handle"


async def test_a_server_that_is_gone_is_told(net: Testnet, tmp_path, person: Person) -> None:
    """503, and it can be tried again."""
    async with opened(net, Settings(data_dir=tmp_path), retry_seconds=0.01) as door:
        start = f"/auth/start?handle={person.account.did}"
        async with net.pds[0].hung_up():
            gone = await door.ask("POST", start)
        # What failed is remembered for a moment, and connections that broke are found out one by one.
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                if (await door.ask("POST", start)).status != 503:
                    break
                await asyncio.sleep(0.1)
        session = await door.sign_in(person)

    assert (gone.status, gone.json["detail"]) == (503, "pds_unavailable")
    assert int(gone.headers["Retry-After"]) > 0
    assert session


async def test_what_comes_back_is_taken_once(door: Door, person: Person) -> None:
    """A callback that is repeated, and one that nobody is waiting for, begin nothing."""
    back = await person.agree(await door.start(person))
    first = await door.come_back(back)
    again = await door.come_back(back)
    invented = await door.come_back({**back, "state": "invented"})

    assert first.status == 200
    for refused in (again, invented):
        assert (refused.status, refused.json["detail"]) == (422, "invalid_request")
    assert (await door.exchange(first.json["exchange_token"])).status == 200


async def test_an_exchange_token_is_good_once_also_under_a_race(door: Door, person: Person) -> None:
    """Of twenty that bring it at the same time one gets a session."""
    token = await door.arrive(person, await door.start(person))

    replies = await asyncio.gather(*(door.exchange(token) for _ in range(20)))
    late = await door.exchange(token)

    assert sorted(reply.status for reply in [*replies, late]) == [200] + [401] * 20
    assert late.json["detail"] == "not_authenticated"


async def test_what_was_granted_is_what_counts(door: Door, person: Person) -> None:
    """A person may grant less than was asked for, and nothing more is claimed."""
    session = await door.sign_in(person, granting=f"atproto {LIKE}")

    assert (await door.me(session)).json["scopes"] == ["atproto", LIKE]


async def test_signing_out_ends_the_session_here_and_the_grant_there(door: Door, person: Person) -> None:
    """204, the cookie is taken away, and the server has no agreement any more."""
    session = await door.sign_in(person)
    assert len(await person.agreements()) == 1

    out = await door.ask("POST", "/auth/logout", session=session)

    assert out.status == 204
    assert (await door.me(session)).json["detail"] == "not_authenticated"
    again = await door.ask("POST", "/auth/logout", Cookie=f"session_id={session}", Origin=door.address)
    for reply in (out, again):
        assert "Max-Age=0" in reply.headers["Set-Cookie"]
    assert again.status == 204
    assert await person.agreements() == []


async def test_signing_in_ends_the_session_that_one_had(door: Door, person: Person) -> None:
    """Whoever signs in over it has one session afterwards, and its server one agreement."""
    before = await door.sign_in(person)
    token = await door.arrive(person, await door.start(person))

    after = (await door.exchange(token, before)).json["session_id"]

    assert after != before
    assert [(await door.me(session)).status for session in (before, after)] == [401, 200]
    assert len(await person.agreements()) == 1


async def test_a_cookie_changes_nothing_for_other_sites(door: Door, person: Person) -> None:
    """Whose page asks must be ours; a program that keeps cookies is no page."""
    session = await door.sign_in(person)
    cookie = {"Cookie": f"session_id={session}"}

    foreign = {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}
    for headers in foreign:
        refused = await door.ask("POST", "/auth/logout", **cookie, **headers)
        assert (refused.status, refused.json["detail"]) == (403, "foreign_origin")
    led = await door.ask("POST", "/auth/exchange", {"exchange_token": "x"}, Origin="https://evil.example")
    assert led.status == 403

    other = await door.sign_in(person)
    assert (await door.ask("POST", "/auth/logout", **cookie, Origin=door.address)).status == 204
    assert (await door.ask("POST", "/auth/logout", Cookie=f"session_id={other}")).status == 204


@pytest.mark.slow
async def test_a_grant_that_its_server_ended_says_so(
    door: Door, state_settings: Settings, person: Person
) -> None:
    """401 with the reason when it is to be refreshed; agreeing again mends the same session."""
    session = await door.sign_in(person)
    await person.end_all()
    async with open_state(state_settings) as state:
        await expire(state, session)

    refused = await door.me(session)
    upgrade = await door.ask("POST", "/auth/scope-upgrade/start", session=session)
    token = await door.arrive(person, upgrade.json["auth_url"])
    mended = await door.exchange(token, session)

    assert (refused.status, refused.json["detail"]) == (401, "session_expired")
    assert refused.json["message"] == "Your server says that this authorization has ended."
    assert mended.json["session_id"] == session
    assert (await door.me(session)).status == 200


async def test_a_session_goes_on_while_its_account_or_server_is_away(
    net: Testnet, door: Door, state_settings: Settings, person: Person
) -> None:
    """Deactivated midway, or the server down when a refresh is due: neither ends it."""
    session = await door.sign_in(person)
    await person.account.deactivate()
    async with open_state(state_settings) as state:
        await expire(state, session)
    deactivated = await door.me(session)
    await person.account.activate()
    async with open_state(state_settings) as state:
        await expire(state, session)

    async with net.pds[0].hung_up():
        down = await door.me(session)
    up = await door.me(session)

    assert [deactivated.status, down.status, up.status] == [200, 200, 200]


@pytest.mark.slow
async def test_scrobbling_is_asked_for_only_when_somebody_wants_it(door: Door, person: Person) -> None:
    """By an upgrade that names it; afterwards it is among what was granted, and stays at the next upgrade."""
    session = await door.sign_in(person)
    before = (await door.me(session)).json["scopes"]

    for wanted in ({"scopes": [SCROBBLING]}, None):
        started = await door.ask("POST", "/auth/scope-upgrade/start", wanted, session)
        upgraded = await door.exchange(await door.arrive(person, started.json["auth_url"]), session)
        assert upgraded.json["session_id"] == session
        assert (await door.me(session)).json["scopes"] == sorted([*before, SCROBBLING])
    unknown = await door.ask("POST", "/auth/scope-upgrade/start", {"scopes": ["repo:*"]}, session)

    assert SCROBBLING not in before
    assert len(await person.agreements()) == 1, "what an upgrade replaces is given back"
    assert (unknown.status, unknown.json["errors"][0]["field"]) == (422, "scopes")


async def test_signing_in_has_a_limit_of_its_own(net: Testnet, tmp_path) -> None:
    """Ten a minute for an address, however the path is written; other routes are not concerned."""
    async with opened(net, Settings(data_dir=tmp_path), auth_rate_limit="10/minute") as door:
        statuses = [(await door.ask("GET", "/%61uth/me")).status for _ in range(11)]
        limited = await door.ask("GET", "/auth/me")
        elsewhere = await door.ask("GET", "/openapi.json")

    assert statuses == [401] * 10 + [429]
    assert (limited.json["detail"], limited.headers["RateLimit-Limit"]) == ("rate_limited", "10")
    assert elsewhere.status == 200


async def test_the_limit_is_counted_for_the_account(net: Testnet, tmp_path, person: Person) -> None:
    """Whoever is signed in is not held up by their neighbours, nor do two sessions give them more."""
    async with opened(net, Settings(data_dir=tmp_path), auth_rate_limit="10/minute") as door:
        sessions = [await door.sign_in(person) for _ in range(2)]
        statuses = [(await door.me(sessions[number % 2])).status for number in range(11)]
        of_the_address = await door.ask("GET", "/auth/me")

    assert statuses == [200] * 10 + [429]
    assert of_the_address.status == 401


async def test_servers_are_told_who_we_are(net: Testnet, tmp_path) -> None:
    """The document under both its addresses, and the keys; a loopback client has none."""
    async with opened(net, Settings(data_dir=tmp_path)) as door:
        documents = [
            await door.ask("GET", path)
            for path in ("/meta/oauth-client-metadata.json", "/oauth-client-metadata.json")
        ]
        keys = await door.ask("GET", "/.well-known/jwks.json")

    assert documents[0].json == documents[1].json
    assert documents[0].json["redirect_uris"] == [f"{door.address}/auth/callback"]
    assert keys.json == {"keys": []}
