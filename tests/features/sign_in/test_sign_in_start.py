"""Who may end a sign-in: the browser or the program that began it, and nobody who was led to its end."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from schemas.settings import Settings
from tests.network.person import Person
from tests.network.testnet import Testnet
from tests.readapi.door import TOLD, Door, opened
from tests.readapi.music import Reply

pytestmark = pytest.mark.network

APP = "https://app.example"


@dataclass(slots=True)
class Tab:
    """Pages of the web application in one browser, which keeps `cookies`."""

    door: Door
    cookies: dict[str, str]

    async def start(self, person: Person, **headers: str) -> str:
        """Where the form of the web application leads."""
        start = f"/auth/start?{urlencode({'handle': person.account.handle})}"
        left = await self._ask("POST", start, None, **{"Accept": "text/html", **headers})
        assert left.status == 302, left.json
        return left.headers["Location"]

    async def arrive(self, person: Person, page: str) -> str:
        """They agree; the exchange token in the address that they come back to."""
        back = urlencode(await person.agree(page))
        led = await self._ask("GET", f"/auth/callback?{back}", None, Accept="text/html")
        assert led.headers["Location"].startswith(f"{APP}/?")
        return dict(parse_qsl(urlsplit(led.headers["Location"]).query))["exchange_token"]

    async def exchange(self, token: str) -> Reply:
        """What the web application does with the token in its address."""
        return await self._ask("POST", "/auth/exchange", {"exchange_token": token})

    async def sign_in(self, person: Person) -> str:
        reply = await self.exchange(await self.arrive(person, await self.start(person)))
        assert reply.status == 200, reply.json
        return self.cookies["session_id"]

    async def who(self) -> str | None:
        """The account that the browser is signed in as."""
        return (await self._ask("GET", "/auth/me")).json.get("did")

    async def _ask(self, method: str, path: str, sent: Any = None, **headers: str) -> Reply:
        if method == "POST":
            headers["Origin"] = APP
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        reply = await self.door.ask(method, path, sent, **headers)
        for cookie in reply.headers.getall("Set-Cookie", []):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return reply


@pytest.fixture
async def app(net: Testnet, tmp_path: Path) -> AsyncIterator[Door]:
    """A worker with a web application on another origin."""
    async with opened(net, Settings(data_dir=tmp_path), web_url=APP) as door:
        yield door


@pytest.fixture
async def attacker(net: Testnet, person: Person) -> Person:
    """Somebody who would like others to act in their name."""
    return Person(await net.pds[0].create_account(f"mallory-{person.account.handle}"))


async def test_the_address_of_a_strangers_sign_in_signs_nobody_in(
    app: Door, person: Person, attacker: Person
) -> None:
    """Whether a program or a browser of the stranger began it: who is signed in stays so, grant and all."""
    victim, elsewhere = Tab(app, {}), Tab(app, {})
    session = await victim.sign_in(person)
    of_a_program = await app.arrive(attacker, await app.start(attacker))
    of_a_browser = await elsewhere.arrive(attacker, await elsewhere.start(attacker))

    led = [await victim.exchange(token) for token in (of_a_program, of_a_browser)]
    fresh = await Tab(app, {}).exchange(of_a_program)

    for reply in (*led, fresh):
        assert (reply.status, reply.json["detail"]) == (401, "not_authenticated")
        assert "Set-Cookie" not in reply.headers
    assert (victim.cookies["session_id"], await victim.who()) == (session, person.account.did)
    assert len(await person.agreements()) == 1
    assert (await app.exchange(of_a_program)).status == 200, "nothing was used up"


async def test_a_link_to_the_start_asks_first(app: Door, person: Person) -> None:
    """Wherever the link stood, and where the browser does not say: a form of our own begins the sign-in."""
    start = f"/auth/start?{urlencode({'handle': person.account.handle})}"
    page = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Sec-Fetch-Mode": "navigate"}

    for site in ("cross-site", "same-site", "same-origin", "none", None):
        told = {} if site is None else {"Sec-Fetch-Site": site}
        asked = await app.ask("GET", start, **page, **told)

        assert (asked.status, "Location" in asked.headers) == (200, False)
        assert "Set-Cookie" not in asked.headers
        assert f'<form method="post" action="{start}">' in asked.json
        assert f"<bdi>{person.account.handle}</bdi>" in asked.json
        assert asked.headers["X-Frame-Options"] == "DENY"
        assert asked.headers["Cache-Control"] == "no-store"


async def test_the_form_of_another_site_begins_nothing(app: Door, person: Person) -> None:
    start = f"/auth/start?{urlencode({'handle': person.account.handle})}"

    refused = await app.ask("POST", start, Accept="text/html", Origin="https://evil.example")

    assert (refused.status, "Set-Cookie" in refused.headers) == (403, False)


async def test_a_script_of_another_site_binds_no_browser(app: Door, person: Person) -> None:
    """Its GET brings no Origin of ours: what it begins, no browser can end."""
    start = f"/auth/start?{urlencode({'handle': person.account.handle})}"
    leaving = {"Cookie": "leaving=" + "x" * 43}

    for told in ({"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}):
        begun = await app.ask("GET", start, **TOLD, **told, **leaving)
        token = await app.arrive(person, begun.json["auth_url"])
        ended = await app.ask("POST", "/auth/exchange", {"exchange_token": token}, Origin=APP, **leaving)

        assert "Set-Cookie" not in begun.headers
        assert (ended.status, "Set-Cookie" in ended.headers) == (401, False)


async def test_a_program_is_given_json_and_no_cookie(app: Door, person: Person) -> None:
    """By POST and by GET, with and without asking for JSON."""
    start = f"/auth/start?{urlencode({'handle': person.account.handle})}"
    for method in ("POST", "GET"):
        told = await app.ask(method, start, **TOLD)
        led = await app.ask(method, start)
        for reply, page in ((told, told.json["auth_url"]), (led, led.headers["Location"])):
            ended = await app.exchange(await app.arrive(person, page))

            assert (ended.status, ended.json["did"]) == (200, person.account.did)
            assert "Set-Cookie" not in reply.headers
            assert "Set-Cookie" not in ended.headers


async def test_a_program_cannot_end_what_a_browser_began(app: Door, person: Person) -> None:
    """A token that leaks from an address is of no use elsewhere."""
    tab = Tab(app, {})
    token = await tab.arrive(person, await tab.start(person))

    leaked = await app.exchange(token)

    assert (leaked.status, leaked.json["detail"]) == (401, "not_authenticated")
    assert (await tab.exchange(token)).status == 200


async def test_several_tabs_sign_in_at_once(app: Door, person: Person, attacker: Person) -> None:
    """Each comes back to its own end, in any order."""
    tab = Tab(app, {})
    first, second = await tab.start(person), await tab.start(attacker)

    ended = [
        await tab.exchange(await tab.arrive(attacker, second)),
        await tab.exchange(await tab.arrive(person, first)),
    ]

    assert [reply.json["did"] for reply in ended] == [attacker.account.did, person.account.did]
    assert await tab.who() == person.account.did


async def test_signing_in_ends_no_session_of_another_account(
    app: Door, person: Person, attacker: Person
) -> None:
    """In a browser and with a bearer token: its session and its grant are as before."""
    tab = Tab(app, {})
    before = await tab.sign_in(person)

    after = await tab.sign_in(attacker)
    token = await app.arrive(attacker, await app.start(attacker))
    program = await app.exchange(token, before)

    assert program.status == 200
    assert after != before
    assert [(await app.me(session)).json["did"] for session in (before, after)] == [
        person.account.did, attacker.account.did,
    ]  # fmt: skip
    assert len(await person.agreements()) == 1


async def test_signing_in_ends_no_session_that_holds_other_accounts_too(
    app: Door, person: Person, attacker: Person
) -> None:
    session = await app.sign_in(person)
    started = await app.ask("POST", "/auth/add-account/start", {"handle": attacker.account.handle}, session)
    assert (await app.exchange(await app.arrive(attacker, started.json["auth_url"]), session)).status == 200

    again = await app.exchange(await app.arrive(person, await app.start(person)), session)

    assert again.status == 200
    assert len((await app.me(session)).json["linked_accounts"]) == 2


async def test_the_form_of_a_browser_that_hides_its_origin_signs_in(app: Door, person: Person) -> None:
    """Sec-Fetch-Site, which no page can write, says that the form is ours; a GET that says so binds none."""
    start = f"/auth/start?{urlencode({'handle': person.account.handle})}"
    ours = {"Sec-Fetch-Site": "same-origin"}

    picture = await app.ask("GET", start, Accept="image/*", **ours)
    left = await app.ask("POST", start, Accept="text/html", **ours)
    leaving = left.headers["Set-Cookie"].partition(";")[0]
    back = urlencode(await person.agree(left.headers["Location"]))
    led = await app.ask("GET", f"/auth/callback?{back}", Accept="text/html")
    sent = {"exchange_token": dict(parse_qsl(urlsplit(led.headers["Location"]).query))["exchange_token"]}
    ended = await app.ask("POST", "/auth/exchange", sent, Cookie=leaving, **ours)

    assert (ended.status, ended.json["did"]) == (200, person.account.did)
    assert "Set-Cookie" in ended.headers
    assert "Set-Cookie" not in picture.headers
