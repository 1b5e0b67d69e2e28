"""Pages and players in a real browser: they play, can be used without a mouse, and complain of nothing."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from html import escape
from pathlib import Path
from urllib.parse import quote

import pytest
import pytest_asyncio
from aiohttp import web

from schemas.ids import record_id
from tests.features.pages.barriers import barriers
from tests.features.pages.browser import Browser, Page
from tests.features.pages.published import BRIEF, BROKEN, HARBOUR, HOSTILE, SLOW, SUPPORTERS, Published
from tests.indexer.changes import uri
from tests.promises import documented

pytestmark = pytest.mark.asyncio(loop_scope="session")

PLAYING = (
    "document.querySelector('[data-player]').dataset.state === 'playing'"
    " && document.querySelector('audio').currentTime > 0.1"
)
NAMES = ("label", "select-name", "button-name", "landmark-main-is-top-level", "landmark-no-duplicate-main")
STILL = "document.querySelector('audio').paused"
POSITION = "document.querySelector('audio').currentTime"


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def elsewhere() -> AsyncIterator[str]:
    """Somebody else's site, whose page holds the HTML that its query says."""

    async def page(request: web.Request) -> web.Response:
        body = f"<!doctype html><title>elsewhere</title><link rel=icon href=data:,>{request.query['html']}"
        return web.Response(text=body, content_type="text/html")

    app = web.Application()
    app.router.add_get("/", page)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield "http://127.0.0.1:{1}/".format(*runner.addresses[0][:2])
    await runner.cleanup()


async def framed(chromium: Browser, elsewhere: str, html: str) -> tuple[Page, str]:
    """A page of somebody else's with a frame in it, and the frame's session."""
    page = await chromium.page(f"{elsewhere}?html={quote(html)}", 500, 500)
    return page, await page.frame()


async def test_a_player_plays_in_a_sandboxed_frame_without_an_origin(
    site: Published, chromium: Browser, elsewhere: str
):
    """Scripts are all that it needs: no origin, no cookies, no storage, no other server."""
    address = escape(f"{site.address}/embed/track/{site.track(SLOW)}")

    page, frame = await framed(
        chromium, elsewhere, f'<iframe sandbox="allow-scripts" src="{address}" width=400 height=165></iframe>'
    )
    await page.evaluate("document.querySelector('.toggle').click()", frame)
    await page.until(PLAYING, frame)

    assert await page.evaluate("self.origin", frame) == "null"
    assert page.complaints == []
    fetched = await page.evaluate("performance.getEntriesByType('resource').map((one) => one.name)", frame)
    assert {name.split("/")[2] for name in fetched} == {site.address.removeprefix("http://")}
    assert any("/img/" in name for name in fetched)


async def test_the_frame_that_oembed_hands_out_plays(site: Published, chromium: Browser, elsewhere: str):
    """Put into a page as it is."""
    told = json.loads(await site.text(f"/oembed?url={site.address}/u/mara.example/album/ninety-nights"))

    page, frame = await framed(chromium, elsewhere, told["html"])
    await page.evaluate("document.querySelector('.toggle').click()", frame)
    await page.until(PLAYING, frame)

    assert page.complaints == []


async def test_a_player_works_by_keyboard(site: Published, chromium: Browser):
    """Tab reaches title, artist, button and slider; space plays and pauses, arrows move by five seconds."""
    page = await chromium.page(f"{site.address}/embed/track/{site.track(SLOW)}", 400, 165)
    reached = []
    for _ in range(3):
        await page.press("Tab")
        reached.append(await page.evaluate("document.activeElement.textContent.trim()"))

    await page.press("Space")
    await page.until(PLAYING)
    named = await page.evaluate("document.activeElement.getAttribute('aria-label')")
    await page.press("Space")
    await page.until(STILL)
    await page.press("Tab")
    before = await page.evaluate(POSITION)
    await page.press("ArrowRight")
    await page.until(f"{POSITION} >= {before + 4.9}")
    said = await page.evaluate("document.activeElement.getAttribute('aria-valuetext')")

    assert reached == ["Slow Water", "Mara Lindqvist", ""]
    assert named == "Pause"
    assert said in ("0:05 of 0:30", "0:06 of 0:30")
    assert page.complaints == []


async def test_space_plays_when_a_frame_has_just_been_entered(site: Published, chromium: Browser):
    """With nothing focused there is only one thing it can mean."""
    page = await chromium.page(f"{site.address}/embed/track/{site.track(SLOW)}", 400, 165)

    await page.press("Space")

    await page.until(PLAYING)


async def test_a_position_can_be_chosen_though_the_server_sends_only_whole_files(
    site: Published, chromium: Browser
):
    """Before playing and while playing, as with a PDS that knows no ranges."""
    page = await chromium.page(f"{site.address}/embed/track/{site.track(SLOW)}", 400, 165)
    bar = "document.querySelector('.seek')"
    choose = f"{bar}.value = %d; {bar}.dispatchEvent(new Event('input'))"

    await page.evaluate(choose % 20)
    await page.press("Space")
    await page.until(f"{PLAYING} && {POSITION} > 20")
    await page.evaluate(choose % 5)
    await page.until(f"{PLAYING} && {POSITION} > 5 && {POSITION} < 19")

    assert page.complaints == []


async def test_a_list_plays_what_is_chosen_and_then_what_follows(site: Published, chromium: Browser):
    """Rows are buttons, the current one is marked, and silent tracks are passed over."""
    page = await chromium.page(f"{site.address}/embed/album/mara.example/ninety-nights", 400, 380)
    current = "document.querySelector('[aria-current] .title').textContent"
    assert await page.evaluate(current) == "Slow Water"
    assert await page.evaluate("document.querySelectorAll('button.row').length") == 2

    await page.evaluate("document.querySelector('.toggle').click()")
    await page.until(PLAYING)
    await page.evaluate("document.querySelector('[data-step=\"1\"]').click()")
    await page.until(f"{current} === 'Harbour Lights' && {PLAYING}")
    await page.evaluate("document.querySelector('[data-step=\"-1\"]').click()")
    await page.until(f"{current} === 'Slow Water' && {PLAYING}")
    await page.evaluate("document.querySelector('audio').dispatchEvent(new Event('ended'))")
    await page.until(f"{current} === 'Harbour Lights' && {PLAYING}")

    assert (
        await page.evaluate("document.querySelector('[data-step=\"1\"]').getAttribute('aria-disabled')")
        == "true"
    )
    assert page.complaints == []


NOTED = (
    "window.told = []; const ask = window.fetch;"
    " window.fetch = (url, options) => (told.push([url, options]), ask(url, options)); 0"
)
HEADING = "document.querySelector('[aria-current] .title').textContent"


@pytest.mark.slow
async def test_a_play_is_told_once_half_of_the_track_was_heard(site: Published, chromium: Browser):
    """Not before, not while it is paused, not for what is heard again, and not once more at the end."""
    page = await chromium.page(f"{site.address}/track/{site.track(BRIEF)}")
    audio = "document.querySelector('audio')"
    await page.evaluate(NOTED)

    look = f"const look = () => {POSITION} > 0.3 ? done({audio}.pause()) : setTimeout(look, 10); look();"
    for _ in range(2):
        await page.evaluate(f"{audio}.currentTime = 0, {audio}.play()")
        await page.evaluate(f"new Promise((done) => {{ {look} }})")
        await asyncio.sleep(0.8)
    before = (await page.evaluate("told.length"), await site.plays(BRIEF))
    for _ in range(2):
        await page.evaluate(f"{audio}.currentTime = 0, {audio}.play()")
        await page.until(f"{audio}.ended")

    assert before == (0, 0)
    assert (await page.evaluate("told.length"), await site.plays(BRIEF)) == (1, 1)
    assert page.complaints == []


async def test_a_play_in_a_frame_is_told_without_credentials(
    site: Published, chromium: Browser, elsewhere: str
):
    """By a player that has no origin; what was passed over was not heard."""
    address = escape(f"{site.address}/embed/album/mara.example/ninety-nights")
    frame_html = f'<iframe sandbox="allow-scripts" src="{address}" width=400 height=380></iframe>'
    page, frame = await framed(chromium, elsewhere, frame_html)
    noted = (
        "window.told = []; window.fetch = (url, options) => (told.push([url, options]), Promise.resolve())"
    )
    audio = "document.querySelector('audio')"
    await page.evaluate(noted, frame)

    await page.evaluate("document.querySelector('.toggle').click()", frame)
    await page.until(PLAYING, frame)
    await page.evaluate(f"{audio}.currentTime = 29.8", frame)
    await page.until(
        "document.querySelector('[aria-current] .title').textContent === 'Harbour Lights'", frame
    )
    passed_over = await page.evaluate("told", frame)
    await page.evaluate(f"{audio}.playbackRate = 16", frame)
    await page.until(f"{audio}.ended || told.length", frame)

    number = record_id(str(uri("mara", "track", HARBOUR)))
    options = {"method": "POST", "credentials": "omit", "keepalive": True}
    assert passed_over == []
    assert await page.evaluate("told", frame) == [[f"{site.address}/tracks/{number}/play", options]]


async def test_whoever_is_signed_in_hears_on_pages_what_they_may(site: Published, chromium: Browser):
    """A stranger is offered to sign in; the artist's browser plays, and moves about in what it plays."""
    path = f"/track/{site.track(SUPPORTERS)}"
    stranger = await chromium.page(site.address + path)
    await photographed(stranger, "stranger")
    profile = await chromium.profile()
    page = await chromium.page(f"{site.address}/openapi.json", profile=profile)
    await page.call(
        "Network.setCookie",
        name="session_id",
        value=await site.session("mara"),
        url=site.address,
        httpOnly=True,
    )
    await page.call("Page.navigate", url=site.address + path)
    await page.arrive(site.address + path)  # whole, with the script that plays
    await page.evaluate("document.querySelector('.toggle').click()")
    await page.until(PLAYING)
    await page.evaluate("document.querySelector('.seek').value = 20")
    await page.evaluate("document.querySelector('.seek').dispatchEvent(new Event('input'))")
    await page.until(f"{PLAYING} && {POSITION} > 20")
    await photographed(page, "artist")

    offered = await stranger.evaluate("document.querySelector('#main .silence').textContent")
    assert offered == "Only supporters of Mara Lindqvist can listen. Sign in to listen"
    leads = await stranger.evaluate("document.querySelector('#main .silence a').href")
    assert leads == f"{site.address}/login?to={path}"
    assert await stranger.evaluate("document.querySelector('audio')") is None
    assert page.complaints == []


async def photographed(page: Page, name: str) -> None:
    """A picture for whoever looks through them, if a folder for these is named."""
    if folder := os.environ.get("FMSVC_TEST_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        await page.screenshot(Path(folder) / f"page-{name}.png", whole=True)


async def test_a_recording_that_is_gone_is_told(site: Published, chromium: Browser):
    """In our own sentence, which is announced; and the button offers to play again."""
    page = await chromium.page(f"{site.address}/embed/track/{site.track(BROKEN)}", 400, 165)

    await page.press("Space")
    await page.until("document.querySelector('.trouble').textContent !== ''")

    assert await page.evaluate("document.querySelector('[role=status]').textContent") == (
        "The artist's server is unavailable; try again later."
    )
    assert await page.evaluate("document.querySelector('.toggle').getAttribute('aria-label')") == "Play"


async def test_a_player_without_scripts_is_the_browsers_own(site: Published, chromium: Browser):
    """Native controls, in a list one for each track that may be heard."""
    track = await chromium.page(f"{site.address}/embed/track/{site.track(SLOW)}", 400, 165, scripts=False)
    album = await chromium.page(
        f"{site.address}/embed/album/mara.example/ninety-nights", 400, 380, scripts=False
    )
    shown = "[...document.querySelectorAll('audio')].filter((one) => one.controls && one.offsetHeight).length"

    assert await track.evaluate(shown) == 1
    assert await album.evaluate(shown) == 2
    assert await track.evaluate("document.querySelector('.controls').hidden")


@pytest.mark.parametrize(
    "size",
    [(400, 165), (320, 120), (250, 100), (200, 80), (120, 60), (120, 800), (800, 60), (800, 800)],
)
@pytest.mark.slow
async def test_a_player_fits_its_frame(site: Published, chromium: Browser, size: tuple[int, int]):
    """Nothing is cut off or has to be scrolled to, whatever the title is."""
    players = [f"track/{site.track(number)}" for number in (SLOW, HOSTILE, SUPPORTERS)]
    for player in (*players, f"playlist/{site.list('ben')}", "track/1"):
        page = await chromium.page(f"{site.address}/embed/{player}", *size)
        edges = await page.evaluate(
            "[...document.querySelectorAll('h1, .toggle, .seek, p.silence')]"
            ".filter((one) => one.offsetHeight)"
            ".map((one) => one.getBoundingClientRect())"
            ".map((box) => [box.left, box.top, box.right, box.bottom])"
        )
        assert edges
        for left, top, right, bottom in edges:
            assert left >= 0
            assert top >= 0
            assert right <= size[0]
            assert bottom <= size[1]


@pytest.mark.parametrize("color", ["ffff00", "001"])
@pytest.mark.slow
async def test_a_site_chooses_how_its_player_looks(site: Published, chromium: Browser, color: str):
    """Its theme whatever the reader's, its colour as far as it can be read, and where it begins."""
    ink = "getComputedStyle(document.body).color"
    accent = "getComputedStyle(document.querySelector('.toggle')).backgroundColor"
    players = (f"/embed/track/{site.track(SLOW)}", "/embed/album/mara.example/ninety-nights")
    for path in (site.address + player for player in players):
        plain = await chromium.page(path, 400, 380)
        before = await plain.evaluate(accent)
        inks = {}
        for theme in ("light", "dark", "auto"):
            page = await chromium.page(f"{path}?theme={theme}&color={color}&t=0:12", 400, 380)
            inks[theme] = await page.evaluate(ink)
            assert await page.evaluate("document.querySelector('.seek').value") == "12"
            assert await page.evaluate(accent) != before
            assert await barriers(page) == []
            assert page.complaints == []

        assert inks["light"] == inks["auto"] != inks["dark"]
    for wrong in ("theme=pink", "color=red", "color=fff;}"):
        async with site.get(f"{players[0]}?{wrong}", headers={"Accept": "text/html"}) as answer:
            assert answer.status == 422
            assert f"<code>{wrong.partition('=')[0]}</code>: " in await answer.text()


async def test_a_page_controls_the_player_that_it_holds(site: Published, chromium: Browser, elsewhere: str):
    """It plays, seeks and pauses by messages and is told of it; messages from other windows do nothing.

    The script of docs/embedding.md is on the page, and seeks beyond the end.
    """
    [shown] = [block.text for block in documented.blocks() if block.language == "js"]
    address = escape(f"{site.address}/embed/track/{site.track(BRIEF)}")
    page, frame = await framed(
        chromium,
        elsewhere,
        "<script>const told = []; onmessage = ({ source, data }) => source === frames[0] && told.push(data)"
        "</script><iframe sandbox='allow-scripts' allow='autoplay' "
        f'src="{address}" width=400 height=165></iframe><script>{shown}</script>',
    )
    order = "frames[0].postMessage({{ api: 'fmsvc', type: '{}', position: {} }}, '*')"
    types = "told.map(({ type }) => type)"
    await page.until("Number(document.querySelector('.seek').value) === 2", frame)
    await page.evaluate("postMessage({ api: 'fmsvc', type: 'play' }, '*')", frame)  # from itself
    await page.evaluate("frames[0].postMessage({ api: 'other', type: 'play' }, '*')")
    await page.evaluate("frames[0].postMessage({ api: 'fmsvc', type: 'constructor' }, '*')")
    await page.evaluate(order.format("seek", "'x'"))
    await page.evaluate(order.format("seek", 0.5))
    await page.until(f"Number(document.querySelector('.seek').value) === 0.5 && {STILL}", frame)
    await page.evaluate(order.format("play", 0))
    await page.until(f"{types}.includes('time')")
    await page.evaluate(order.format("pause", 0))
    await page.until(f"{types}.includes('pause')")
    await page.evaluate(order.format("play", 0))
    await page.until(f"{types}.includes('ended')")

    told = await page.evaluate("told")
    assert told[0] == {
        "api": "fmsvc", "type": "ready", "playable": True, "title": "Brief", "artist": "Mara Lindqvist",
        "position": 0, "seconds": 2,
    }  # fmt: skip
    assert next(one["type"] for one in told if one["type"] != "time" and one != told[0]) == "play"
    assert all(one["position"] >= 0.5 for one in told[1:])
    assert page.complaints == []


async def test_a_player_that_is_gone_says_so_in_its_frame(site: Published, chromium: Browser, elsewhere: str):
    """One sentence, without the header of a page."""
    page, frame = await framed(
        chromium,
        elsewhere,
        f'<iframe sandbox src="{site.address}/embed/track/1" width=120 height=60></iframe>',
    )
    text = await page.evaluate("document.body.innerText.trim()", frame)

    assert text == "This is no longer available."
    assert await page.evaluate("getComputedStyle(document.querySelector('main')).display", frame) == "grid"


async def test_the_site_can_be_installed(site: Published, chromium: Browser):
    """Chromium reads the manifest under the policy of each kind of page; every named icon is there."""
    for path in ("/", "/docs", "/login", f"/track/{site.track(SLOW)}"):
        page = await chromium.page(site.address + path)
        manifest = await page.call("Page.getAppManifest")
        named = await page.evaluate(
            "[...document.querySelectorAll('link[rel*=icon]')].map((one) => new URL(one.href).pathname)"
        )

        assert (manifest["url"], manifest["errors"]) == (f"{site.address}/site.webmanifest", [])
        assert "/apple-touch-icon.png" in named
        icons = [one["src"] for one in json.loads(manifest["data"])["icons"]]
        for icon in {*named, *icons}:
            async with site.get(icon) as answer:
                assert (answer.status, answer.content_type.partition("/")[0]) == (200, "image"), icon
                assert "max-age=" in answer.headers["Cache-Control"]
        assert page.complaints == []


async def test_nothing_moves_for_those_who_asked_for_stillness(site: Published, chromium: Browser):
    """The button pulses while it waits, unless motion is to be reduced."""
    page = await chromium.page(f"{site.address}/embed/track/{site.track(SLOW)}", 400, 165)
    await page.evaluate("document.querySelector('[data-player]').dataset.state = 'waiting'")
    motion = "getComputedStyle(document.querySelector('.toggle')).animationName"
    moving = await page.evaluate(motion)

    reduced = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    await page.call("Emulation.setEmulatedMedia", features=reduced)

    assert (moving, await page.evaluate(motion)) == ("waiting", "none")


@pytest.mark.slow
async def test_the_description_opens_under_its_own_strict_policy(site: Published, chromium: Browser):
    """Every kind of route is listed and can be tried, from files of ours alone."""
    page = await chromium.page(f"{site.address}/docs", 1000, 800)
    await page.until("document.querySelectorAll('.opblock-tag').length > 10")
    await page.evaluate("document.querySelector('#operations-tag-oembed').click()")
    await page.until("document.querySelector('[id$=get_oembed] button')")
    await page.evaluate("document.querySelector('[id$=get_oembed] button').click()")
    await page.until("document.querySelector('.execute')")

    fetched = await page.evaluate("performance.getEntriesByType('resource').map((one) => one.name)")
    assert [name for name in fetched if not name.startswith((site.address, "data:"))] == []
    assert page.complaints == []


@pytest.mark.slow
async def test_every_control_of_the_description_has_a_name(site: Published, chromium: Browser):
    """Closed, and with operations open that take bodies, files, choices and lists; and there is one main."""
    page = await chromium.page(f"{site.address}/docs", 1000, 800)
    await page.until("document.querySelectorAll('.opblock-tag').length > 10")
    closed = await barriers(page)
    for tag in ("tracks", "publishing"):
        await page.evaluate(f"document.querySelector('#operations-tag-{tag}').click()")
    for name in ("list_tracks", "get_track", "change_track", "publish_track", "put_preferences"):
        await page.until(f"document.querySelector('[id$=-{name}] button')")
        await page.evaluate(f"document.querySelector('[id$=-{name}] button').click()")
    await page.until("document.querySelectorAll('.execute').length >= 5")

    found = [barrier for barrier in (*closed, *await barriers(page)) if barrier[0] in NAMES]
    assert found == []


async def test_the_description_is_a_list_where_scripts_do_not_run(site: Published, chromium: Browser):
    """Routes with their sentences."""
    page = await chromium.page(f"{site.address}/docs", 1000, 800, scripts=False)

    assert "GET /oembed" in await page.evaluate("document.body.innerText")
