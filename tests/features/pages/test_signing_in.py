"""People sign in with a real browser at their own server's real page, and look after tokens and accounts."""

import asyncio
import itertools
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from tests.features.pages.barriers import barriers
from tests.features.pages.browser import Browser, Page
from tests.features.pages.visitor import UNSCRIPTED, Visitor
from tests.network.testnet import Testnet

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.network]

SCREENSHOTS = os.environ.get("FMSVC_TEST_SCREENSHOTS")
OPEN_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
NUMBERS = itertools.count(1)

Arrive = Callable[[], Awaitable[Visitor]]


@pytest_asyncio.fixture(loop_scope="session")
async def arrives(shared_net: Testnet, service: str, chromium: Browser) -> Arrive:
    """Lets somebody new open the sign-in page, in a browser of their own."""

    async def arrive() -> Visitor:
        account = await shared_net.pds[0].create_account(f"visitor-{next(NUMBERS)}.test")
        page = await chromium.page(f"{service}/login", 900, 900, profile=await chromium.profile())
        return Visitor(account, page, service)

    return arrive


@pytest_asyncio.fixture(loop_scope="session")
async def visitor(arrives: Arrive) -> Visitor:
    """Somebody new on the sign-in page."""
    return await arrives()


async def photographed(page: Page, name: str) -> None:
    """Kept for people to look at, where a folder for that is named."""
    if SCREENSHOTS:
        Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
        await page.screenshot(Path(SCREENSHOTS) / f"{name}.png", whole=True)


async def curl(url: str, token: str) -> tuple[int, dict[str, object]]:
    """Status and JSON, as a program with a developer token gets them."""
    command = ("curl", "-s", "-w", "\n%{http_code}", "-H", f"Authorization: Bearer {token}", url)
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate()
    body, _, status = said.decode().rpartition("\n")
    return int(status), json.loads(body)


@pytest.mark.slow
async def test_a_token_is_created_used_and_revoked(visitor: Visitor) -> None:
    """Signed in, authorized at the server, shown once, good for curl, and refused from its revocation on."""
    page, me = visitor.page, f"{visitor.site}/auth/me"
    await photographed(page, "1-sign-in")
    await visitor.sign_in()
    await photographed(page, "2-settings")

    token = await visitor.create_token("nightly upload")
    await photographed(page, "3-token")
    status, told = await curl(me, token)
    await visitor.goes("Back to settings", "/settings")
    listed = await visitor.shows("developer")
    await photographed(page, "4-tokens")
    await page.click("Revoke nightly upload")
    await photographed(page, "5-revoke")
    note = await visitor.goes("Revoke for good nightly upload", "/settings")

    assert token.startswith("fmsvc_")
    assert (status, told["did"]) == (200, visitor.account.did)
    assert "nightly upload" in listed
    assert token[:12] in listed
    assert token not in listed
    assert note == "The token was revoked. Programs that use it are refused from now on."
    assert (await curl(me, token))[0] == 401
    assert "You have none." in await visitor.shows("developer")
    assert visitor.complaints == []


async def test_a_token_is_shown_once(visitor: Visitor) -> None:
    """Loading its page again says so; nothing of it is in the address."""
    token = await visitor.is_given_token("once")

    await visitor.page.until("location.search === ''")
    await visitor.page.call("Page.reload")
    await visitor.page.until("!document.getElementById('token') && document.querySelector('.note')")

    assert "completed already" in await visitor.told()
    assert token not in await visitor.page.evaluate("document.documentElement.outerHTML")


async def test_the_copy_button_copies(visitor: Visitor, chromium: Browser) -> None:
    """And says that it did, for those who do not see it."""
    token = await visitor.is_given_token("copied")
    granted = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"], "origin": visitor.site}
    context = (await visitor.page.call("Target.getTargetInfo"))["targetInfo"]["browserContextId"]
    await chromium.call("Browser.grantPermissions", browserContextId=context, **granted)
    await visitor.page.call("Page.bringToFront")

    await visitor.page.click("Copy")
    await visitor.page.until("document.querySelector('[data-copied]').textContent === 'Copied.'")

    assert await visitor.page.evaluate("navigator.clipboard.readText()") == token


@pytest.mark.slow
async def test_everything_but_the_copy_button_works_without_scripts(visitor: Visitor) -> None:
    """Signing in, a token, its revocation, signing out."""
    await visitor.page.call("Network.enable")
    await visitor.page.call("Network.setBlockedURLs", urls=UNSCRIPTED)
    await visitor.page.call("Page.reload")
    await visitor.sign_in()

    token = await visitor.create_token("plain")
    offered = await visitor.page.evaluate("document.querySelector('[data-copies]').offsetHeight")
    status, _ = await curl(f"{visitor.site}/auth/me", token)
    await visitor.goes("Back to settings", "/settings")
    await visitor.page.click("Revoke plain")
    revoked = await visitor.goes("Revoke for good plain", "/settings")
    left = await visitor.goes("Sign out", "/login")

    assert offered == 0
    assert status == 200
    assert revoked.startswith("The token was revoked")
    assert left == "You are signed out."


async def test_signing_in_needs_no_mouse(visitor: Visitor) -> None:
    """The field has the focus; Enter goes on, and after it the note has the focus."""
    page = visitor.page
    focused = await page.evaluate("document.activeElement.name")
    await page.call("Input.insertText", text=visitor.account.handle)
    await page.press("Enter")
    await visitor.agree()
    await page.arrive(f"{visitor.site}/settings")

    assert focused == "handle"
    told = f"You are signed in as @{visitor.account.handle}."
    assert await page.evaluate("document.activeElement.textContent") == told
    assert await page.evaluate("document.title") == f"{told} – Settings – fmsvc"


async def test_whoever_says_no_is_back_at_the_beginning(visitor: Visitor) -> None:
    """With a sentence, and without a cookie."""
    await visitor.page.fill("[name=handle]", visitor.account.handle)
    await visitor.page.click("Continue to your server")
    await visitor.refuse()
    await visitor.page.arrive(f"{visitor.site}/login")

    assert await visitor.told() == "You declined on your server’s page, so nothing changed."
    cookies = (await visitor.page.call("Network.getCookies"))["cookies"]
    assert "session_id" not in {cookie["name"] for cookie in cookies}


async def test_an_unknown_handle_is_told_beside_its_field(visitor: Visitor) -> None:
    """What was typed is still there, and the field says what is wrong with it."""
    await visitor.page.fill("[name=handle]", "nobody-at-all.test")
    visitor.page.loaded.clear()
    await visitor.page.click("Continue to your server")
    await visitor.page.loaded.wait()
    await photographed(visitor.page, "6-unknown-handle")
    field = "document.querySelector('[name=handle]')"

    assert await visitor.page.evaluate(f"{field}.value") == "nobody-at-all.test"
    assert await visitor.page.evaluate(f"{field}.getAttribute('aria-invalid')") == "true"
    assert "nobody-at-all" in await visitor.page.evaluate("document.querySelector('.error').textContent")
    assert await barriers(visitor.page) == []


@pytest.mark.slow
async def test_accounts_are_added_switched_and_removed(visitor: Visitor, shared_net: Testnet) -> None:
    """One session, several accounts, one of them in use."""
    second = await shared_net.pds[0].create_account(f"second-{next(NUMBERS)}.test")
    await visitor.is_signed_in()
    who = "document.querySelector('.who strong').textContent"

    await visitor.page.click("Add an account")
    await visitor.page.fill("[name=handle]", second.handle)
    await visitor.page.click("Continue to its server")
    await visitor.agree(second)
    await visitor.page.arrive(f"{visitor.site}/settings")
    added = (await visitor.told(), await visitor.page.evaluate(who))
    await photographed(visitor.page, "7-accounts")
    switched = (
        await visitor.goes(f"Use @{visitor.account.handle}", "/settings"),
        await visitor.page.evaluate(who),
    )
    removed = await visitor.goes(f"Remove @{second.handle}", "/settings")

    assert added == ("The account was added.", f"@{second.handle}")
    assert switched == ("You are using another account.", f"@{visitor.account.handle}")
    assert removed == "The account was removed."
    assert second.handle not in await visitor.shows("accounts")


async def test_settings_of_nobody_are_the_sign_in_page(visitor: Visitor) -> None:
    visitor.page.loaded.clear()
    await visitor.page.call("Page.navigate", url=f"{visitor.site}/settings")
    await visitor.page.loaded.wait()

    assert await visitor.page.evaluate("location.pathname") == "/login"
    assert await visitor.page.evaluate("document.querySelector('h1').textContent") == "Sign in"


@pytest.mark.slow
async def test_axe_finds_no_barrier_on_the_pages_of_signing_in(visitor: Visitor) -> None:
    """Names, roles, landmarks, and contrast in light and in dark; with everything opened that opens."""
    page = visitor.page
    found = await barriers(page)
    await visitor.is_given_token("accessible")
    found += await barriers(page)
    await visitor.goes("Back to settings", "/settings")
    await page.evaluate(OPEN_ALL)
    found += await barriers(page)

    assert found == []
    assert visitor.complaints == []


async def test_no_page_is_wider_than_a_telephone(visitor: Visitor) -> None:
    """Nothing has to be scrolled to sideways, whatever is open."""
    narrow = {"width": 320, "height": 640, "deviceScaleFactor": 1, "mobile": False}
    await visitor.page.call("Emulation.setDeviceMetricsOverride", **narrow)
    wide = "document.documentElement.scrollWidth > 320"
    found = [await visitor.page.evaluate(wide)]
    await visitor.is_given_token("narrow")
    found.append(await visitor.page.evaluate(wide))
    await visitor.goes("Back to settings", "/settings")
    await visitor.page.evaluate(OPEN_ALL)
    found.append(await visitor.page.evaluate(wide))
    await photographed(visitor.page, "8-telephone")

    assert found == [False, False, False]
