"""The pages of signing in over HTTP: what they send, what they refuse, and from whom."""

import asyncio
import itertools
import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import aiohttp
import pytest
import pytest_asyncio

from readapi.oauth.errors import OAuthError
from readapi.pds.signing_in import SignIn
from readapi.state.state import open_state
from schemas.settings import Settings
from tests.features.pages.plain_browser import HTML, PlainBrowser
from tests.network.person import Person
from tests.network.testnet import Testnet
from tests.readapi.door import expire, opened
from tests.readapi.indexed import Indexed

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.network]

NUMBERS = itertools.count(1)


@pytest_asyncio.fixture(loop_scope="session")
async def visit(shared_net: Testnet, service: str) -> AsyncIterator[PlainBrowser]:
    """Somebody new, who has not signed in."""
    person = Person(await shared_net.pds[0].create_account(f"visit-{next(NUMBERS)}.test"))
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
        yield PlainBrowser(person, service, client)


@pytest_asyncio.fixture(loop_scope="session")
async def elsewhere(visit: PlainBrowser) -> AsyncIterator[PlainBrowser]:
    """The same person at another browser."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
        yield PlainBrowser(visit.person, visit.site, client)


def check_headers(answer: aiohttp.ClientResponse) -> None:
    """Nobody keeps such a page, frames it, or is told where it was."""
    policy = answer.headers["Content-Security-Policy"].split("; ")
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "style-src 'self'" in policy
    assert "base-uri 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not [rule for rule in policy if "unsafe" in rule or "*" in rule]
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert answer.headers["Cache-Control"] == "no-store"


async def test_pages_that_know_who_is_signed_in_are_kept_by_nobody(visit: PlainBrowser) -> None:
    async with visit.get("/login") as answer:
        check_headers(answer)
    await visit.signed_in()
    async with visit.get("/settings") as answer:
        check_headers(answer)
        assert visit.person.account.handle in await answer.text()
    page = await visit.led("/settings/tokens", name="one", expires_in_days="1")
    async with visit.get(await visit.brought_back(page)) as answer:
        check_headers(answer)
        assert "fmsvc_" in await answer.text()


async def test_the_cookie_is_for_the_browser_alone(visit: PlainBrowser) -> None:
    """No script reads it, no other site's form sends it, and it lasts for two weeks."""
    page = await visit.led("/login", handle=visit.person.account.handle)
    async with visit.get(await visit.brought_back(page)) as answer:
        cookie = answer.cookies["session_id"]

    assert (cookie["httponly"], cookie["samesite"], cookie["max-age"]) == (True, "Lax", "1209600")


async def test_settings_of_one_are_never_shown_to_another(
    visit: PlainBrowser, elsewhere: PlainBrowser
) -> None:
    """Not even to nobody, from what is kept ready."""
    await visit.signed_in()
    await visit.text("/settings")

    async with elsewhere.get("/settings") as answer:
        assert (answer.status, answer.headers["Location"]) == (303, "/login")


async def test_a_link_asks_and_then_ends_on_a_page_of_ours(visit: PlainBrowser) -> None:
    """Without a web application; the page after it names the account."""
    start = f"/auth/start?handle={visit.person.account.handle}"
    asked = await visit.text(start)
    end = await visit.brought_back(await visit.led(start))
    async with visit.get(end) as ended:
        assert ended.headers["Location"] == "/settings?note=signed-in"

    assert f'action="{start}"' in asked
    told = await visit.text("/settings?note=signed-in")
    assert f"You are signed in as @{visit.person.account.handle}." in told


async def test_what_a_program_began_signs_no_browser_in(visit: PlainBrowser) -> None:
    """The page at its end tells the token, to be given to the program, and does nothing else with it."""
    start = f"{visit.site}/auth/start?handle={visit.person.account.handle}"
    async with aiohttp.ClientSession() as program:
        async with program.post(start, allow_redirects=False) as answer:
            page = answer.headers["Location"]
        end = await visit.brought_back(page)
        shown = await visit.text(end)
        token = dict(parse_qsl(urlsplit(end).query))["exchange_token"]
        async with visit.get(f"/login/return?exchange_token={token}") as led:
            assert led.headers["Location"] == "/login?note=expired"
        async with program.post(f"{visit.site}/auth/exchange", json={"exchange_token": token}) as given:
            told = await given.json()

    assert token in shown
    assert 'method="post"' not in shown
    assert told["did"] == visit.person.account.did
    async with visit.get("/settings") as nobody:
        assert nobody.headers["Location"] == "/login"


async def test_nobody_is_signed_in_by_a_link(visit: PlainBrowser, elsewhere: PlainBrowser) -> None:
    """Whoever is led to the end of somebody else's sign-in stays who they are."""
    page = await visit.led("/login", handle=visit.person.account.handle)
    end = await visit.brought_back(page)

    async with elsewhere.get(end) as answer:
        assert answer.headers["Location"] == "/login?note=expired"
        assert "session_id" not in answer.cookies


async def test_an_account_is_linked_to_the_session_that_asked_for_it(
    visit: PlainBrowser, elsewhere: PlainBrowser
) -> None:
    """Led into another's session, the account stays out of it."""
    await visit.signed_in()
    await elsewhere.signed_in()
    page = await visit.led("/settings/accounts", handle=visit.person.account.handle)
    end = await visit.brought_back(page)

    async with elsewhere.get(end) as answer:
        assert answer.headers["Location"] == "/login?note=expired"


async def test_nobody_is_shown_the_token_of_somebody_else(
    visit: PlainBrowser, elsewhere: PlainBrowser
) -> None:
    """Whoever used it would act on an account that is not theirs."""
    await visit.signed_in()
    await elsewhere.signed_in()
    page = await visit.led("/settings/tokens", name="one", expires_in_days="1")
    end = await visit.brought_back(page)

    async with elsewhere.get(end) as answer:
        assert answer.headers["Location"] == "/login?note=expired"


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
async def test_no_other_sites_form_does_anything(visit: PlainBrowser, origin: str) -> None:
    """Signing in and out, tokens, accounts."""
    await visit.signed_in()
    forms = {
        "/login": {"handle": visit.person.account.handle},
        "/settings/sign-out": {},
        "/settings/tokens": {"name": "stolen", "expires_in_days": "1"},
        "/settings/accounts": {"handle": visit.person.account.handle},
        f"/settings/accounts/{visit.person.account.did}/remove": {},
        "/settings/scrobbling/on": {},
        "/settings/adult/on": {},
        "/settings/playing/on": {},
    }

    for path, form in forms.items():
        async with visit.post(path, origin, **form) as answer:
            assert answer.status == 403, path
            assert "Only pages of this service" in await answer.text()
    assert visit.person.account.handle in await visit.text("/settings")


async def test_a_refused_form_of_a_token_is_shown_as_it_was_typed(visit: PlainBrowser) -> None:
    """Each fault stands at its field and in the note. A program gets the error itself."""
    await visit.signed_in()
    wrong = {"name": "  ", "expires_in_days": "366"}
    program = {"Origin": visit.site, "Accept": "application/json"}

    status, told, page = await visit.refused_plainly("/settings/tokens", **wrong)
    async with visit.client.post(visit.site + "/settings/tokens", data=wrong, headers=program) as answer:
        refused = await answer.json()

    faults = {"name": "must have 1 letters or more", "expires_in_days": "must be 365 or less"}
    assert status == answer.status == 422
    assert told == "Nothing was changed. " + " ".join(f"{name}: {fault}." for name, fault in faults.items())
    for name, fault in faults.items():
        assert f'<p class="error" id="token-{name}-error">{fault}</p>' in page
        [field] = re.findall(rf'<input id="token-{name}" [^>]+>', page)
        assert f'value="{wrong[name]}"' in field
        assert 'aria-invalid="true"' in field
    assert {one["field"]: one["message"] for one in refused["errors"]} == faults


async def test_a_handle_that_leads_nowhere_comes_back_with_the_reason(visit: PlainBrowser) -> None:
    """On the page it was typed on, as it was typed."""
    typed = '"><script>alert(1)</script>'
    async with visit.post("/login", handle=typed) as answer:
        page = await answer.text()
    await visit.signed_in()
    async with visit.post("/settings/accounts", handle="nobody-at-all.test") as added:
        settings = await added.text()

    assert (answer.status, added.status) == (422, 422)
    assert 'aria-invalid="true"' in page
    assert "<script>alert" not in page
    assert 'value="nobody-at-all.test"' in settings
    assert '<details class="more" open>' in settings


async def test_a_form_without_a_handle_comes_back_with_the_reason(visit: PlainBrowser) -> None:
    """Where scripts or an old browser let it be sent."""
    async with visit.post("/login", handle="") as answer:
        page = await answer.text()
    await visit.signed_in()
    added, told, settings = await visit.refused_plainly("/settings/accounts", handle=" ")

    reason = "Write a handle, such as ada.example.com."
    assert (answer.status, added) == (422, 422)
    assert told == f"Nothing was changed. handle: {reason}"
    for shown in (page, settings):
        assert f'">{reason}</p>' in shown
    assert '<details class="more" open>' in settings


async def test_a_token_that_a_server_does_not_authorize_is_not_typed_again(
    visit: PlainBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The form comes back with the reason, as it was typed."""

    async def refuse(*_: object, **__: object) -> str:
        raise OAuthError("server_unavailable", "Your server cannot be reached.")

    await visit.signed_in()
    monkeypatch.setattr(SignIn, "make_token", refuse)
    status, told, page = await visit.refused_plainly("/settings/tokens", name="My feed", expires_in_days="9")

    assert (status, told) == (503, "Your server cannot be reached.")
    assert 'value="My feed"' in page
    assert 'value="9"' in page


async def test_addresses_put_no_words_on_our_pages(visit: PlainBrowser) -> None:
    """A note that nobody gave is none, wherever it came from."""
    page = await visit.text("/login?note=Call+this+number")
    async with visit.get("/login/return?error=Call+this+number") as answer:
        led = answer.headers["Location"]

    assert "Call this number" not in page
    assert led == "/login"


async def test_whoever_wants_to_go_to_the_portal_is_led_there(visit: PlainBrowser) -> None:
    """From the way back, and from the sign-in page once it is not needed; addresses lead nowhere else."""
    page = await visit.led("/login?to=portal", handle=visit.person.account.handle)

    async with visit.get(await visit.brought_back(page)) as back:
        led = back.headers["Location"]
    for asked, answered in (("portal", "/portal"), ("//evil.example", "/settings"), ("", "/settings")):
        async with visit.get(f"/login?to={asked}") as answer:
            assert answer.headers["Location"] == answered

    assert led == "/portal?note=signed-in"
    async with visit.get("/login/return?to=portal&error=access_denied") as answer:
        assert answer.headers["Location"] == "/login?to=portal&note=access_denied"


LEADS_BACK = ("/track/5-abcdefgh", "/u/mara.example", "/u/did:plc:abc/album/caf%C3%A9", "/playlist/5f0f7c3e")
LEADS_NOWHERE = (
    *(
        "//evil.example",
        "/\\evil.example",
        "https://evil.example/track/5",
        "/track//evil.example",
        "evil.example",
    ),
    *(
        "/track/..",
        "/track/%2e%2e",
        "/u/../album/x",
        "/u/a/album/%2E.",
        "/track/5?note=signed-out",
        "/track/5#x",
    ),
    *(
        "/track/5\r\nX: y",
        "/track/5\n",
        "/track/",
        "/settings/tokens",
        "/auth/logout",
        "/track/" + "5" * 1000,
    ),
)


async def test_whoever_signs_in_from_a_public_page_is_led_back_to_it(visit: PlainBrowser) -> None:
    """By their server, and by the sign-in page once it is not needed: to public pages of ours alone."""
    form = await visit.text(f"/login?{urlencode({'to': LEADS_BACK[2]})}")
    action = unescape(re.findall(r'action="(/login[^"]*)"', form)[0])
    page = await visit.led(action, handle=visit.person.account.handle)

    async with visit.get(await visit.brought_back(page)) as back:
        led = back.headers["Location"]
    answered = {}
    for asked in LEADS_BACK + LEADS_NOWHERE:
        async with visit.get(f"/login?{urlencode({'to': asked})}") as answer:
            answered[asked] = answer.headers["Location"]

    assert led == LEADS_BACK[2]
    assert answered == {**{asked: asked for asked in LEADS_BACK}, **dict.fromkeys(LEADS_NOWHERE, "/settings")}


async def test_whoever_comes_back_too_late_is_led_to_the_beginning(visit: PlainBrowser) -> None:
    """From their server, whose page they left open, and from a link of ours."""
    async with visit.get("/auth/callback?state=forgotten&iss=x&code=y") as answer:
        assert answer.headers["Location"] == "/login/return?error=callback_mismatch"
    async with visit.get("/login/return?error=callback_mismatch") as answer:
        assert answer.headers["Location"] == "/login?note=callback_mismatch"
    async with visit.get("/login/return?exchange_token=unknown") as answer:
        assert answer.headers["Location"] == "/login?note=expired"

    assert "start again." in await visit.text("/login?note=expired")


async def test_nobody_removes_what_is_not_theirs(visit: PlainBrowser) -> None:
    """Tokens and accounts of others are not there."""
    await visit.signed_in()

    for path in ("/settings/tokens/unknown/revoke", "/settings/accounts/did%3Aplc%3Aother/remove"):
        async with visit.post(path) as answer:
            assert answer.status == 404, path


async def test_the_last_account_that_is_removed_signs_out(visit: PlainBrowser) -> None:
    await visit.signed_in()

    led = await visit.led(f"/settings/accounts/{visit.person.account.did}/remove")

    assert led == "/login?note=signed-out"
    async with visit.get("/settings") as answer:
        assert answer.status == 303


async def test_scrobbling_is_asked_for_when_it_is_turned_on_and_not_before(visit: PlainBrowser) -> None:
    """And given up when it is turned off. What the server granted is what the settings show."""
    await visit.signed_in()
    before = await visit.text("/settings")
    await visit.brought_back_to_settings("/settings/scrobbling/on")
    on = await visit.text("/settings")
    await visit.brought_back_to_settings("/settings/scrobbling/off")
    off = await visit.text("/settings")

    assert ["/settings/scrobbling/off" in page for page in (before, on, off)] == [False, True, False]
    assert "not granted" not in off, "other permissions stay"


async def test_what_is_for_adults_is_shown_on_request(visit: PlainBrowser) -> None:
    """The settings say what is chosen, and change it at once."""
    await visit.signed_in()
    before = await visit.text("/settings")

    on = await visit.led("/settings/adult/on")
    chosen = await visit.text(on)
    off = await visit.led("/settings/adult/off")

    assert (on, off) == ("/settings?note=adult-shown", "/settings?note=adult-hidden")
    assert "/settings/adult/on" in before
    assert "Lists and pages show you what labels say is for adults." in chosen
    assert "/settings/adult/off" in chosen
    assert "/settings/adult/on" in await visit.text("/settings")


async def test_what_is_playing_is_shown_to_others_on_request(visit: PlainBrowser) -> None:
    """Without scrobbling, and until it is turned off, at once."""
    await visit.signed_in()
    heard = {"track_metadata": {"artist_name": "Ada", "track_name": "Water"}}
    listen = {"listen_type": "playing_now", "payload": [heard]}

    async def shown(*, anew: bool) -> int:
        if anew:
            headers = {"Origin": visit.site}
            async with visit.client.post(
                visit.site + "/1/submit-listens", json=listen, headers=headers
            ) as answer:
                assert answer.status == 200
        told = await visit.json(f"/1/user/{visit.person.account.did}/playing-now")
        return int(told["payload"]["count"])

    before, unasked = await visit.text("/settings"), await shown(anew=True)
    on = await visit.led("/settings/playing/on")
    chosen, asked = await visit.text(on), await shown(anew=True)
    off = await visit.led("/settings/playing/off")

    assert (on, off) == ("/settings?note=playing-shown", "/settings?note=playing-hidden")
    assert "/settings/playing/on" in before
    assert "Others see what you are listening to." in chosen
    assert "/settings/playing/off" in chosen
    assert (unasked, asked, await shown(anew=False), await shown(anew=True)) == (0, 1, 0, 0)
    assert "/settings/playing/on" in await visit.text("/settings")


async def test_what_was_not_granted_can_be_asked_for_again(visit: PlainBrowser) -> None:
    """Somebody agreed to less than everything, and thinks better of it."""
    page = await visit.led("/login", handle=visit.person.account.handle)
    back = await visit.person.agree(page, "atproto repo:fm.svc.like")
    async with visit.get(f"/auth/callback?{urlencode(back)}") as answer:
        end = answer.headers["Location"].removeprefix(visit.site)
    async with visit.get(end):
        pass
    less = await visit.text("/settings")

    await visit.brought_back_to_settings("/settings/permissions")

    assert less.count("not granted") == 5
    assert "not granted" not in await visit.text("/settings")


@pytest.mark.slow
async def test_a_profile_that_the_index_does_not_show_yet_is_called_saved(
    shared_net: Testnet, visit: PlainBrowser, tmp_path: Path
) -> None:
    """While no indexer runs, a new artist is not led to an empty form without a word of that."""
    Indexed(tmp_path).close()
    async with opened(shared_net, Settings(data_dir=tmp_path)) as door:
        visit.site = door.address
        artist = await visit.signed_in()

        led = await artist.sent("/portal/profile", display_name="Ada Tide")
        page = await artist.text(led)

    account = artist.person.account
    stored = await account.pds.get(
        "com.atproto.repo.getRecord", repo=account.did, collection="fm.svc.actor.profile", rkey="self"
    )
    assert led == "/portal?note=profile-saved-not-shown"
    assert "Your profile was saved on your server, but is not shown here yet." in page
    assert stored["value"]["displayName"] == "Ada Tide"


@pytest.mark.slow
async def test_a_grant_that_was_taken_back_is_told(
    shared_net: Testnet, visit: PlainBrowser, tmp_path: Path
) -> None:
    """The settings say so, and offer to sign in again; the session stays."""
    settings = Settings(data_dir=tmp_path)
    async with opened(shared_net, settings) as door:
        visit.site = door.address
        await visit.signed_in()
        await visit.person.end_all()
        async with open_state(settings) as state:
            await expire(state, visit.cookie("session_id"))
        await asyncio.sleep(1.1)  # as long as a worker may not know of it
        async with visit.get("/auth/me") as answer:
            assert answer.status == 401

        page = await visit.text("/settings")
        await visit.brought_back_to_settings("/settings/permissions")
        mended = await visit.text("/settings")

    assert "Your server says that this authorization has ended." in page
    assert "Sign in again" in page
    assert "Sign in again" not in mended


async def test_a_developer_token_opens_no_settings(visit: PlainBrowser) -> None:
    """It acts for somebody, but is not them."""
    await visit.signed_in()
    page = await visit.led("/settings/tokens", name="program", expires_in_days="1")
    shown = await visit.text(await visit.brought_back(page))
    token = re.findall(r"fmsvc_[\w-]+", shown)[0]
    bearer = {**HTML, "Authorization": f"Bearer {token}"}

    async with aiohttp.ClientSession() as program:
        async with program.get(f"{visit.site}/settings", headers=bearer, allow_redirects=False) as answer:
            assert (answer.status, answer.headers["Location"]) == (303, "/login")
        async with program.post(f"{visit.site}/settings/sign-out", headers=bearer) as answer:
            assert answer.status == 401
            assert '<a href="/login">Sign in</a>' in await answer.text()


async def test_the_server_is_asked_in_its_own_address_alone(visit: PlainBrowser) -> None:
    """The page that a form leads to carries a reference, and nothing of what was asked."""
    page = await visit.led("/login", handle=visit.person.account.handle)

    assert page.startswith(visit.person.origin)
    assert dict(parse_qsl(urlsplit(page).query)).keys() == {"client_id", "request_uri"}
