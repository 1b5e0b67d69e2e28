"""The pages that list and find music: home, search, the most liked, the newest, tags."""

import json
import re
from urllib.parse import quote

import pytest

from tests.features.pages.barriers import barriers
from tests.features.pages.browser import Browser
from tests.features.pages.published import SLOW, SUPPORTERS, Published
from tests.indexer.changes import did

pytestmark = pytest.mark.asyncio(loop_scope="session")

BROWSERS = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
PLAYING = (
    "document.querySelector('[data-player]').dataset.state === 'playing'"
    " && document.querySelector('audio').currentTime > 0.1"
)


async def page_of(site: Published, path: str) -> str:
    """The page at an address, as a browser gets it."""
    async with site.get(path, headers=BROWSERS) as answer:
        assert (answer.status, answer.content_type) == (200, "text/html"), await answer.text()
        return await answer.text()


async def test_a_search_is_json_for_programs_and_a_page_for_browsers(site: Published):
    """In either order of asking, with caches on the way told; both are cached here, each as itself."""
    path = "/search/?q=slow"
    for headers, kind in [(BROWSERS, "text/html"), ({}, "application/json")] * 2:
        async with site.get(path, headers=headers) as answer:
            assert (answer.status, answer.content_type) == (200, kind)
            assert "Accept" in [name.strip() for name in answer.headers["Vary"].split(",")]
            assert answer.headers["ETag"]
    async with site.get(path, headers={"Accept": "*/*"}) as answer:
        assert answer.content_type == "application/json"


async def test_what_is_found_is_grouped_counted_marked_and_linked(site: Published):
    """By kind, with the words of the query marked; hostile titles are text."""
    page = await page_of(site, "/search?q=slow")
    hostile = await page_of(site, "/search?q=quoted")
    artists = await page_of(site, "/search?q=mara&type=artists")

    assert "<mark>Slow</mark> Water" in page
    assert "Tracks 1" in page
    assert re.search(rf'href="{site.address}/track/\d+" aria-label="Open Slow Water"', page)
    assert "<script>alert" not in hostile
    assert "&lt;script&gt;alert" in hostile
    assert "<mark>Mara</mark> Lindqvist" in artists
    assert 'id="tracks"' not in artists
    assert "Nothing was found" in await page_of(site, "/search?q=zzzzzzqqqq")
    assert "at least two letters" in await page_of(site, "/search?q=a")


async def test_search_engines_may_list_plain_searches_that_find_their_words(site: Published):
    """Under one address; no page whose title repeats words or signs that somebody else put into a link."""
    noindex, canonical = '<meta name="robots" content="noindex">', '<link rel="canonical" href="{}">'
    plain = canonical.format(f"{site.address}/search?q=slow+water")

    for query in ("q=slow+water", "q=%20Slow++WATER", "q=sl%C3%B3w+water"):
        page = await page_of(site, f"/search/?{query}")
        assert plain in page, query
        assert noindex not in page, query
    for query in (
        "q=slow+water+cheap+pills", "q=slow+water+by+cheap+pills", "q=slow+water+feat.+pills",
        "q=slow+water!", "q=slow+water+%E2%82%AC%E2%82%AC%E2%82%AC", "q=slow-water", "q=slow+water+slow",
        "q=zzzzzzqqqq", "q=slow+wetar", "q=slow+-pills", "q=tag:ambient",
        "q=%22slow%22", "q=slow&type=tracks", "q=slow&tag=ambient", "q=slow&sort=recent",
        "q=slow&artist_did=" + did("mara"),
    ):  # fmt: skip
        assert noindex in await page_of(site, f"/search/?{query}"), query
    assert noindex not in await page_of(site, "/search/")


async def test_what_is_found_can_be_filtered_and_played(site: Published):
    """By tag and by kind, in another order; each track's row has what its player needs."""
    tagged = await page_of(site, "/search?q=slow&tag=ambient&sort=recent")
    other = await page_of(site, "/search?q=slow&tag=jazz")
    [track] = json.loads(await site.text("/search/?q=slow&type=tracks"))["results"]

    assert "<mark>Slow</mark> Water" in tagged
    assert '<option value="recent" selected>Newest</option>' in tagged
    assert f'data-source="{site.address}/tracks/{track["id"]}/stream"' in tagged
    assert f'data-play="{site.address}/tracks/{track["id"]}/play"' in tagged
    assert '<a href="/search?q=slow">search without the tag</a>' in other
    assert "<mark>" not in other


async def test_a_search_that_is_wrong_is_refused_on_a_page(site: Published):
    """By a foreign cursor, or an unknown type."""
    async with site.get("/search/?q=song&cursor=x", headers=BROWSERS) as answer:
        assert (answer.status, answer.content_type) == (400, "text/html")
    async with site.get("/search/?q=so&type=nothing", headers=BROWSERS) as answer:
        assert answer.status == 422


async def test_lists_have_what_their_json_has(site: Published):
    """The newest and those with a tag, in its order; nothing that is unlisted or private."""
    titles = re.compile(r'<bdi class="title">([^<]+)</bdi>')
    listed = [track["title"] for track in json.loads(await site.text("/tracks/"))["tracks"]]

    new = titles.findall(await page_of(site, "/new"))
    home = await page_of(site, "/")

    assert [title.replace("&#39;", "'") for title in new if "&lt;" not in title] == [
        title for title in listed if "<" not in title
    ]
    assert titles.findall(await page_of(site, "/tag/ambient")) == ["Slow Water"]
    assert f'href="{site.address}/tag/ambient"' in await page_of(site, "/tags")
    for page in (home, await page_of(site, "/top?period=all_time"), await page_of(site, "/new")):
        assert "Private Song" not in page
        assert "Unlisted Song" not in page
    async with site.get("/tag/none", headers=BROWSERS) as answer:
        assert answer.status == 404
    assert "Sign in" in home
    assert quote("/new", safe="/") in await page_of(site, "/new")


async def test_no_page_gives_the_audio_of_what_the_viewer_may_not_hear(site: Published):
    """The rules of a track's own page hold in lists."""
    new = await page_of(site, "/new")

    row = new[new.index("For Supporters") - 400 : new.index("For Supporters") + 200]
    assert "Only supporters of Mara Lindqvist can listen." in row
    assert f"/tracks/{site.track(SUPPORTERS)}/stream" not in new


async def test_a_page_says_who_is_signed_in(site: Published):
    """And is then cached by nobody else."""
    cookie = {"Cookie": f"session_id={await site.session('mara')}", **BROWSERS}
    for path in ("/", "/search?q=slow", f"/track/{site.track(SLOW)}", "/portal", "/settings"):
        async with site.get(path, headers=cookie) as answer:
            assert answer.status == 200
            assert "@mara.example" in await answer.text(), path
            assert "public" not in answer.headers["Cache-Control"]
        async with site.get(path, headers=BROWSERS) as answer:
            assert "@mara.example</bdi></a></nav>" not in await answer.text()


async def test_names_are_suggested_and_chosen_by_keyboard(site: Published, chromium: Browser):
    """As the combobox pattern asks: arrows choose, Escape closes, Enter searches; axe finds nothing."""
    page = await chromium.page(site.address)
    field = "document.querySelector('header [name=q]')"
    opened = f"{field}.getAttribute('aria-expanded') === 'true'"

    await page.fill("header [name=q]", "wat")
    await page.until(opened)
    found = await barriers(page)
    await page.press("Escape")
    await page.until(f"{field}.getAttribute('aria-expanded') === 'false'")
    await page.fill("header [name=q]", "wate")
    await page.until(opened)
    await page.press("ArrowDown")
    chosen = await page.evaluate(
        f"document.getElementById({field}.getAttribute('aria-activedescendant')).textContent"
    )
    await page.press("Enter")

    await page.arrive(f"{site.address}/search?q=Slow+Water")
    assert chosen == "Slow Water track by Mara Lindqvist"
    assert found == []
    assert page.complaints == []


async def test_rows_do_not_move_while_a_page_loads(site: Published, chromium: Browser):
    """On a phone, where the script's buttons leave less room for names."""
    page = await chromium.page(f"{site.address}/", 320, 740)

    moved = await page.evaluate(
        """new Promise((resolve) => {
           const seen = new PerformanceObserver((list) => resolve(list.getEntries().map((one) => one.value)));
           seen.observe({ type: "layout-shift", buffered: true });
           setTimeout(() => resolve([]), 500);
         })"""
    )

    assert await page.evaluate("document.querySelectorAll('.rows button.open').length > 3")
    assert moved == []


async def test_a_moment_can_be_linked_to_and_jumped_to(site: Published, chromium: Browser):
    """By `?t=`, by the time of a comment, and by its mark under the bar; the page can be shared."""
    page = await chromium.page(f"{site.address}/track/{site.track(SLOW)}?t=12")
    position = "Number(document.querySelector('.seek').value)"
    started = await page.evaluate(f"[{position}, document.querySelector('audio').paused]")

    await page.evaluate("document.querySelector('a[data-moment]').click()")
    await page.until(f"!document.querySelector('audio').paused && {position} >= 20")
    await page.evaluate("document.querySelector('audio').pause()")
    await page.evaluate("document.querySelector('.mark').click()")
    await page.until("!document.querySelector('audio').paused")
    left = await page.evaluate("document.querySelector('.mark').style.left")

    assert started == [12, True]
    assert left.startswith("66.6")
    assert (
        await page.evaluate("document.querySelector('#link').value")
        == f"{site.address}/track/{site.track(SLOW)}"
    )
    assert "Lovely from here on" in await page.evaluate("document.querySelector('.comments').innerText")
    assert await barriers(page) == []
    assert page.complaints == []


@pytest.mark.slow
async def test_a_listener_chooses_what_is_next_and_how_loud(site: Published, chromium: Browser):
    """It comes before the rest of the list; the volume is kept; another tab's player pauses this one."""
    page = await chromium.page(f"{site.address}/u/mara.example/album/ninety-nights")
    audio, title = "document.querySelector('#foot audio')", "navigator.mediaSession.metadata?.title"
    await page.evaluate("document.querySelector('.toggle').click()")
    await page.until(PLAYING)
    await page.evaluate("volume = document.querySelector('.volume'), volume.value = 0.25")
    await page.evaluate("volume.dispatchEvent(new Event('input'))")
    await page.evaluate("document.querySelector('header a[href$=\"/new\"]').click()")
    await page.until("location.pathname === '/new' && document.querySelector('#foot .queue')")
    await page.evaluate("document.querySelector('[aria-label=\"Play Brief next\"]').click()")
    await page.evaluate("document.querySelector('.queue').open = true")
    queue = await page.evaluate(
        "[...document.querySelectorAll('.queue button')].map((one) => one.textContent)"
    )

    assert queue == ["Slow Water", "Next: Brief", "Harbour Lights"]
    assert await page.evaluate("document.querySelector('[data-said]').textContent") == "Brief plays next."
    assert await barriers(page) == []
    await page.evaluate("document.querySelector('#foot [data-step=\"1\"]').click()")
    await page.until(f"{title} === 'Brief'")
    await page.until(f"{title} === 'Harbour Lights' && !{audio}.paused && {audio}.volume === 0.25")

    other = await chromium.page(f"{site.address}/track/{site.track(SLOW)}")
    await other.evaluate("document.querySelector('.toggle').click()")
    await page.until(f"{audio}.paused")
    assert await other.evaluate("document.querySelector('audio').volume") == 0.25
    await other.evaluate("localStorage.clear()")
    assert page.complaints == other.complaints == []


async def test_a_long_recording_goes_on_where_it_was_left(site: Published, chromium: Browser):
    """After the page was loaded again; the browser keeps a bounded number of places, and songs have none."""
    path = f"/track/{site.track(SLOW)}"
    page = await chromium.page(site.address + path)
    audio, bar = "document.querySelector('audio')", "document.querySelector('.seek')"
    seek = f"{bar}.value = 15, {bar}.dispatchEvent(new Event('input'))"
    pause = "new Promise((done) => { audio.onpause = () => setTimeout(done); audio.pause(); })"
    await page.evaluate("audio = document.querySelector('audio'), localStorage.clear()")
    await page.evaluate("places = [null, ...Array.from({ length: 60 }, (_, n) => ['/' + n, n])]")
    await page.evaluate("localStorage.setItem('positions', JSON.stringify(places))")
    await page.evaluate(f"{seek}, document.querySelector('.toggle').click()")
    await page.until(f"!{audio}.paused && {audio}.currentTime > 15")
    await page.evaluate(pause)
    kept = "JSON.parse(localStorage.getItem('positions'))"
    assert await page.evaluate(f"{kept}.length") == 61
    await page.evaluate("Object.defineProperty(audio, 'duration', { value: 900 })")
    await page.evaluate("audio.play()")
    await page.until(f"!{audio}.paused")
    await page.evaluate(pause)
    places = await page.evaluate(kept)
    again = await chromium.page(site.address + path)
    begins = await again.evaluate(f"Number({bar}.value)")
    await again.evaluate("localStorage.clear()")

    assert len(places) == 50
    assert places[0] == [path, begins]
    assert 15 <= begins < 30
    assert again.complaints == []


async def test_music_goes_on_across_pages(site: Published, chromium: Browser):
    """Links, a search and the way back change the page, not the sound; its keys and its queue work there."""
    page = await chromium.page(f"{site.address}/u/mara.example/album/ninety-nights")
    audio = "document.querySelector('#foot audio')"
    await page.evaluate("window.isFirst = true, document.querySelector('.toggle').click()")
    await page.until(PLAYING)

    follow = 'document.querySelector(\'#main a[href$="{}"], header a[href$="{}"]\').click()'
    for path in ("/u/mara.example", "/new", "/tags", "/tag/ambient"):
        before = await page.evaluate("document.querySelector('[data-state=playing] audio').currentTime")
        await page.evaluate(follow.format(path, path))
        await page.arrive(site.address + path)
        await page.until(f"{audio} && !{audio}.paused && {audio}.currentTime > {before}")
    await page.evaluate("history.back()")
    await page.until("location.pathname === '/tags' && document.querySelector('h1').textContent === 'Tags'")
    await page.fill("header [name=q]", "harbour")
    await page.press("Enter")
    await page.until("location.pathname === '/search' && document.querySelector('mark')")

    assert await page.evaluate(f"window.isFirst && !{audio}.paused")
    assert await page.evaluate("document.querySelector('#foot .about a').textContent") == "Slow Water"
    assert await page.evaluate("document.querySelector('#foot .artist').textContent") == "Mara Lindqvist"
    assert await page.evaluate("navigator.mediaSession.metadata.title") == "Slow Water"
    assert await barriers(page) == []
    await page.evaluate("document.querySelector('.skip').click()")  # to a part of this page
    await page.evaluate("document.activeElement.blur()")
    await page.press("Space")
    await page.until(f"{audio}.paused")
    await page.evaluate("document.querySelector('#foot [data-step=\"1\"]').click()")
    await page.until(f"!{audio}.paused && navigator.mediaSession.metadata.title === 'Harbour Lights'")
    await page.evaluate("document.querySelector('#main button.row').click()")
    await page.until(
        "document.getElementById('foot').hidden && !document.querySelector('#main audio').paused"
    )
    assert page.complaints == []
