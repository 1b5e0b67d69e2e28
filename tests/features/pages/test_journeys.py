"""What people come for, from beginning to end in a real browser: with a mouse, and by keyboard alone."""

import json
from pathlib import Path

import pytest

from tests.features.pages.browser import Browser, Page
from tests.features.pages.plain_browser import PlainBrowser
from tests.features.pages.published import Published
from tests.network.media import tone
from tests.readapi.studio import Studio

pytestmark = pytest.mark.asyncio(loop_scope="session")

HEARD = "[...document.querySelectorAll('audio')].some((one) => !one.paused && one.currentTime > 0)"
TOLD = "document.querySelector('[data-said]').textContent"


async def test_a_stranger_finds_hears_browses_and_shares(site: Published, chromium: Browser) -> None:
    """A song by name in three actions, the top of the week, jazz, and a player's HTML on the clipboard."""
    page = await chromium.page(site.address)
    await page.fill("#wanted", "a song by jonas tanaka")
    await page.press("Enter")
    await page.arrive(f"{site.address}/search?q=a+song+by+jonas+tanaka")
    await page.until("document.querySelector('#main button.row')")
    await page.evaluate("window.isFirst = true, document.querySelector('#main button.row').click()")
    await page.until(HEARD)
    found = await page.evaluate("document.querySelector('[aria-current] .title').textContent")

    await page.click("Top")
    await page.until("location.pathname === '/top' && document.querySelector('#main .toggle')")
    goes_on = await page.evaluate("!document.querySelector('#foot audio').paused")
    await page.evaluate("document.querySelector('#main .toggle').click()")
    await page.until("!document.querySelector('#main audio').paused")
    top = await page.evaluate("document.querySelector('#main [aria-current] .title').textContent")

    await page.click("Tags")
    await page.until("location.pathname === '/tags'")
    await page.evaluate("document.querySelector('#main a[href$=\"/tag/jazz\"]').click()")
    await page.until("location.pathname === '/tag/jazz' && document.querySelector('#main button.row')")
    await page.evaluate("document.querySelector('#main button.row').click()")
    await page.until("!document.querySelector('#main audio').paused")
    await page.click("Open")
    await page.until("location.pathname.startsWith('/track/') && document.querySelector('#embedding')")
    await page.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    await page.call("Emulation.setFocusEmulationEnabled", enabled=True)
    await page.click("Share")
    await page.evaluate("document.querySelector('#size').value = '400 480'")
    await page.evaluate("document.querySelector('#size').dispatchEvent(new Event('change'))")
    await page.click("Copy the HTML")
    await page.until(
        "[...document.querySelectorAll('[data-copied]')].some((one) => one.textContent === 'Copied.')"
    )
    copied = await page.evaluate("navigator.clipboard.readText()")
    address = await page.evaluate("document.querySelector('link[rel=canonical]').href")

    assert found == top == "Paper Lantern"
    assert goes_on
    small = json.loads(await site.text(f"/oembed?url={address}"))["html"]
    assert copied == small.replace('height="165"', 'height="480"')
    assert await page.evaluate(f"window.isFirst && {HEARD}")
    assert page.complaints == []


@pytest.mark.network
@pytest.mark.slow
async def test_a_listener_needs_no_mouse_and_is_told_what_happens(
    listener: PlainBrowser, studio: Studio, chromium: Browser, tmp_path: Path
) -> None:
    """Search, play, like, comment, make a playlist, see the Portal and the settings, all by Tab and Enter.

    Every control is reached by the role and name that a screen reader is given. The focus is on the heading
    of each page that is reached, and stays where it was after a form, whose effect is announced.
    """
    (tmp_path / "tone.wav").write_bytes(tone(30, 440))
    artist = await studio.artist()
    await artist.publish(tmp_path / "tone.wav", title="Keyboard Piece")
    page = await listener.opens(chromium, "/")

    await page.tab_to("combobox", "Search for music")
    await page.type("keyboard piece")
    await page.arrive(f"{listener.site}/search?q=keyboard+piece")
    await page.until("document.querySelector('#main button.row')")
    await page.tab_to("button", "Keyboard Piece")
    await page.press("Enter")
    await page.until(HEARD)
    await page.evaluate("window.isFirst = true, document.querySelector('audio').loop = true")
    await page.tab_to("link", "Open Keyboard Piece")
    await page.press("Enter")
    assert await reached(page, "/track/") == ("heading", "Keyboard Piece")

    await page.tab_to("button", "Like")
    await page.press("Enter")
    await page.until(f"{TOLD} === 'You like this track.'")
    role, name = await page.focused()
    assert (role, name.partition(" ")[0]) == ("button", "Liked")
    await page.tab_to("textbox", "Comment")
    await page.type("By keyboard")
    await page.until(f"{TOLD} === 'Your comment was added.'")
    assert await page.focused() == ("textbox", "Comment")
    assert "By keyboard" in await page.evaluate("document.querySelector('.comments').innerText")

    await page.press("Escape")
    await page.evaluate("document.activeElement.blur(), document.querySelector('.skip').focus()")
    await page.tab_to("link", "Playlists")
    await page.press("Enter")
    assert await reached(page, "/playlists") == ("heading", "Your playlists")
    await page.tab_to("textbox", "Name")
    await page.type("Made by keys")
    assert await reached(page, "/playlists/") == ("heading", "Made by keys")
    await page.tab_to("link", "Keyboard Piece")  # at the foot
    await page.press("Enter")
    await reached(page, "/track/")
    await page.tab_to("button", "Add to playlist")
    await page.press("Enter")
    assert await reached(page, "/playlist/") == ("heading", "Made by keys")
    assert "Keyboard Piece" in await page.evaluate("document.querySelector('#main .rows').innerText")

    for path, link, heading in (
        ("/portal", "Portal", "Artist profile"),
        ("/settings", "Settings of", "Settings"),
    ):
        await page.evaluate("document.querySelector('.skip, header.site a').focus()")
        await page.tab_to("link", link)
        await page.press("Enter")
        assert await reached(page, path) == ("heading", heading)
    assert await page.evaluate(f"window.isFirst && {HEARD}")
    assert page.complaints == []


async def reached(page: Page, path: str) -> tuple[str, str]:
    """What has the focus once a page whose path begins so is shown in place."""
    shown = f"location.pathname.startsWith('{path}') && document.activeElement.closest('h1')"
    await page.until(f"{shown} && document.querySelector('link[rel=canonical], #main')")
    return await page.focused()
