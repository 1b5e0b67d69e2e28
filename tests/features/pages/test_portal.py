"""Artists at the Portal, in a real browser and without scripts, in front of a whole server and a real PDS."""

import asyncio
import itertools
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from tests.features.pages.barriers import barriers
from tests.features.pages.browser import Browser
from tests.features.pages.plain_browser import PlainBrowser
from tests.features.pages.visitor import Visitor
from tests.network.media import cover, tone
from tests.network.person import Person
from tests.network.testnet import Testnet
from tests.readapi.studio import Studio

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.network]

SCREENSHOTS = os.environ.get("FMSVC_TEST_SCREENSHOTS")
NUMBERS = itertools.count(1)
OPEN_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
METER = "document.querySelector('.meter [role=status]').textContent"
OPEN = {"listening": "public", "downloads": "open", "visibility": "public"}
SIGNED_IN = OPEN | {"listening": "signed_in"}
MOVE = r'name="track" value="([^"]+)">\s*<input type="hidden" name="before" value="([^"]+)"'
PLAYING = (
    "document.querySelector('[data-player]').dataset.state === 'playing'"
    " && document.querySelector('audio').currentTime > 0.1"
)


@pytest_asyncio.fixture(loop_scope="session")
async def artist(shared_net: Testnet, studio: Studio, chromium: Browser) -> Visitor:
    """Somebody new, who wanted to go to the Portal and stands on the sign-in page."""
    account = await shared_net.pds[0].create_account(f"publisher-{next(NUMBERS)}.test")
    page = await chromium.page(f"{studio.door.address}/portal", 900, 900, profile=await chromium.profile())
    return Visitor(account, page, studio.door.address)


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def plain(shared_net: Testnet, studio: Studio) -> AsyncIterator[PlainBrowser]:
    """Somebody with a profile, signed in, at a browser that shows nothing."""
    person = Person(await shared_net.pds[0].create_account(f"unscripted-{next(NUMBERS)}.test"))
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
        browser = await PlainBrowser(person, studio.door.address, client).signed_in()
        assert (
            await browser.led("/portal/profile", display_name="Plain Artist") == "/portal?note=profile-saved"
        )
        yield browser


@pytest.mark.slow
async def test_a_track_is_uploaded_heard_and_kept_from_strangers(
    artist: Visitor, chromium: Browser, tmp_path: Path
) -> None:
    """From signing in to a change of who may listen, which a stranger's player then tells."""
    page, recording, no_recording = artist.page, tmp_path / "tide.wav", tmp_path / "notes.wav"
    recording.write_bytes(tone(5, 440))
    no_recording.write_text("not a sound")
    await artist.sign_in("/portal")
    await page.fill("#profile-display_name", "Ada Tide")
    assert await artist.goes("Save the profile", "/portal") == "Your profile was saved."

    await page.fill("#upload-title", "Low Tide")
    await page.choose_file("#upload-file", no_recording)
    await page.click("Upload: everyone can listen")
    await page.until("document.getElementById('upload-file-error')")
    typed = await page.evaluate("document.getElementById('upload-title').value")
    chosen = await page.evaluate("document.getElementById('upload-file').files[0].name")
    focused = await page.evaluate("document.activeElement.getAttribute('role')")
    await page.choose_file("#upload-file", recording)
    await page.click("Upload: everyone can listen")
    await page.arrive(f"{artist.site}/portal/uploads/")
    await page.until(f"{METER} === 'The track is published.'")
    full = await page.evaluate("document.querySelector('progress').value")
    await page.click("Manage the track")
    address = await page.arrive(f"{artist.site}/portal/tracks/")
    player = f"{artist.site}/embed/track/{address.rpartition('/')[2]}"
    found = await barriers(page)

    stranger = await chromium.page(player, 400, 165, profile=await chromium.profile())
    await stranger.evaluate("document.querySelector('.toggle').click()")
    await stranger.until(PLAYING)
    await page.evaluate("document.getElementById('publishing-listening-signed_in').click()")
    await page.click("Change who may listen")
    await page.arrive(f"{artist.site}/portal/jobs/")
    await page.until(f"{METER} === '1 of 1 tracks' && /cannot be recalled/.test(document.body.innerText)")
    found += await barriers(page)
    await page.click("Tracks")
    await page.arrive(f"{artist.site}/portal")
    await page.until("/Low Tide/.test(document.getElementById('tracks')?.parentElement.innerText)")
    await photographed(artist, "9-portal")
    refused = await chromium.page(player, 400, 165, profile=await chromium.profile())

    assert (typed, chosen, focused, full) == ("Low Tide", "notes.wav", "alert", 100)
    assert await refused.evaluate("document.querySelector('.silence').textContent") == (
        "Only people who are signed in can listen. Open its page"
    )
    assert await refused.evaluate("document.querySelector('audio')") is None
    assert found == []
    assert [one for one in artist.complaints if "415" not in one] == []


async def test_a_choice_of_listeners_counts_as_soon_as_it_is_made(artist: Visitor, tmp_path: Path) -> None:
    """The button says who will hear the track; half a template is refused, and a whole one is the track's."""
    page, recording = artist.page, tmp_path / "secret.wav"
    recording.write_bytes(tone(1, 440))
    await artist.is_signed_in("/portal")
    await artist.goes("Save the profile", "/portal")
    await page.fill("#upload-title", "Secret")
    await page.choose_file("#upload-file", recording)
    await page.evaluate(OPEN_ALL)
    await page.evaluate("document.getElementById('upload-listening-owner').click()")

    await page.click("Upload: only you can listen")
    await page.until(
        "document.getElementById('upload-downloads-').closest('fieldset').querySelector('.error')"
    )
    for answer in ("upload-downloads-off", "upload-visibility-unlisted"):
        await page.evaluate(f"document.getElementById('{answer}').click()")
    await page.click("Upload: only you can listen")
    await page.arrive(f"{artist.site}/portal/uploads/")
    await page.until(f"{METER} === 'The track is published.'")
    await page.click("Manage the track")
    address = await page.arrive(f"{artist.site}/portal/tracks/")

    told = await page.evaluate("document.querySelector('main').textContent")
    stream = f"{artist.site}/tracks/{address.rpartition('/')[2]}/stream"
    async with aiohttp.ClientSession() as stranger, stranger.get(stream) as refused:
        assert refused.status == 404
    assert "Only you can listen, no downloads, unlisted" in told
    assert [one for one in artist.complaints if "422" not in one] == []


async def test_a_file_that_is_too_large_is_told_before_it_is_sent(artist: Visitor, tmp_path: Path) -> None:
    """The form is not sent, nothing that was typed is lost, and another file can be chosen."""
    page, cover, recording = artist.page, tmp_path / "cover.png", tmp_path / "song.wav"
    cover.write_bytes(bytes(100_001))
    recording.write_bytes(tone(1, 440))
    await artist.is_signed_in("/portal")
    await artist.goes("Save the profile", "/portal")
    await page.fill("#upload-title", "Kept")
    await page.choose_file("#upload-file", recording)
    await page.choose_file("#upload-image", cover)

    await page.click("Upload: everyone can listen")
    told = await page.evaluate("document.getElementById('upload-image').validationMessage")
    opened = await page.evaluate("document.getElementById('upload-image').closest('details').open")
    kept = await page.evaluate("document.getElementById('upload-title').value")
    was_sent = await page.evaluate("!document.getElementById('sending').hidden")
    small = tmp_path / "small.gif"
    small.write_bytes(b"GIF89a")
    await page.choose_file("#upload-image", small)

    assert told == "This file is larger than 0.1 MB, the limit for this field."
    assert (opened, kept, was_sent) == (True, "Kept", False)
    assert await page.evaluate("document.getElementById('upload-image').validationMessage") == ""
    assert artist.complaints == []


@pytest.mark.slow
async def test_axe_finds_no_barrier_and_a_telephone_nothing_too_wide(artist: Visitor) -> None:
    """On the Portal of somebody new and of an artist, and on the page of an album; everything is open."""
    page, wide = artist.page, "document.documentElement.scrollWidth > 320"
    narrow = {"width": 320, "height": 640, "deviceScaleFactor": 1, "mobile": False}
    await page.call("Emulation.setDeviceMetricsOverride", **narrow)
    await artist.is_signed_in("/portal")
    found, too_wide = await barriers(page), [await page.evaluate(wide)]

    await artist.goes("Save the profile", "/portal")
    await page.evaluate(OPEN_ALL)
    found += await barriers(page)
    too_wide.append(await page.evaluate(wide))
    await page.call("Page.navigate", url=f"{artist.site}/portal/albums")
    await page.arrive(f"{artist.site}/portal/albums")
    await page.fill("#album-title", "Tides")
    note = await artist.goes("Create the album", "/portal/albums/")
    await page.evaluate(OPEN_ALL)
    found += await barriers(page)
    too_wide.append(await page.evaluate(wide))

    assert note == "The album was created."
    assert (found, too_wide) == ([], [False, False, False])
    assert artist.complaints == []


async def test_the_portals_developer_section_is_in_the_settings(artist: Visitor) -> None:
    """Its address leads there, as whoever is signed in."""
    await artist.is_signed_in("/portal")

    await artist.page.call("Page.navigate", url=f"{artist.site}/portal#developer")

    await artist.page.arrive(f"{artist.site}/settings#developer")


@pytest.mark.slow
async def test_everything_works_without_scripts(plain: PlainBrowser) -> None:
    """A track is published, described, moved onto an album, given other listeners and deleted."""
    upload = await plain.sent(
        "/portal/uploads", file=tone(1, 220), title="Plain Song", image=b"", tags="a, b"
    )
    assert await plain.shows(upload, "Manage the track")
    [track] = re.findall(r"/portal/tracks/\d+", await plain.text(upload))
    assert '<option value="" selected>As the file says</option>' in await plain.text("/portal")
    assert "note=upload-begun" in upload
    assert "is being processed" not in await plain.text(upload)
    album = await plain.sent("/portal/albums", title="Plain Album")
    assert await plain.shows(album, "Plain Album")
    described = await plain.sent(track, title="Plainer Song", album="Plain Album", image=b"", tags="b")
    page = await plain.text(described)
    for address, name in ((track, "Plainer Song"), (album, "Plain Album")):
        title = (await plain.text(address)).partition("<title>")[2].partition("</title>")[0]
        assert f"{name} – " in title
        assert "bdi" not in title
    job = await plain.sent(f"{track}/publishing", **SIGNED_IN)
    assert await plain.shows(job, "changed")
    shown = await plain.text(track)
    reset = await plain.sent(f"{track}/publishing/reset")
    assert await plain.shows(reset, "changed")

    assert described == f"{track}?note=track-saved"
    assert 'value="Plainer Song"' in page
    assert '<option value="Plain Album" selected>' in page
    assert "Signed-in people can listen" in shown
    assert "As you chose for this track alone." in shown
    assert "Everyone can listen" in await plain.text(track)
    assert "Plainer Song" in await plain.text(album)
    assert await plain.sent(f"{track}/delete") == "/portal?note=track-deleted"
    assert await plain.sent(f"{album.partition('?')[0]}/delete") == "/portal/albums?note=album-deleted"
    assert "Plainer Song" not in await plain.text("/portal?x#tracks")


@pytest.mark.slow
async def test_an_album_has_an_order_and_a_template(plain: PlainBrowser) -> None:
    """Tracks with a template of their own keep it, and new tracks on the album get the album's."""
    album = (await plain.sent("/portal/albums", title="Shelf")).partition("?")[0]
    assert await plain.shows(album, "Shelf")
    album_id = album.rpartition("/")[2]
    own = OPEN
    uploads = [
        await plain.sent("/portal/uploads", file=tone(1, 330), title=title, album_id=album_id, **more)
        for title, more in (("Kept", own), ("Followed", {}))
    ]
    for upload in uploads:
        assert await plain.shows(upload, "Manage the track")

    before = await plain.text(album)
    moves = re.findall(MOVE, before)
    moved = await plain.sent(f"{album}/order", track=moves[0][0], before=moves[0][1])
    assert await plain.shows(album, f'name="before" value="{moves[0][0]}"')
    titles = [re.findall(r"<bdi>(Kept|Followed)</bdi>", page) for page in (before, await plain.text(album))]
    async with plain.post(f"{album}/order", track=moves[0][0], before="at://gone") as answer:
        stale = await answer.text()

    job = await plain.sent(f"{album}/publishing", **SIGNED_IN)
    assert await plain.shows(job, "changed")
    told = await plain.text(job)

    of_album = await plain.text(album)
    reset = await plain.sent(f"{album}/publishing/reset")
    assert await plain.shows(reset, "changed")

    assert (len(moves), len(set(moves)), moved) == (2, 1, f"{album}?note=order-saved#tracks")
    assert titles[1] == titles[0][::-1]
    assert (answer.status, "are no longer in the list" in stale) == (409, True)
    outcomes = {"Kept": "keeps its own", "Followed": "changed"}
    assert re.findall(r'class="side">([^<]+)<', told) == [outcomes[title] for title in titles[1]]
    assert "1 of 1 tracks" in told
    assert re.search(r'id="publishing-listening-signed_in"[^>]* checked', of_album)
    assert "new tracks on it get your Portal template" in await plain.text(album)


@pytest.mark.slow
async def test_a_form_that_is_sent_twice_uploads_once(plain: PlainBrowser) -> None:
    """As two clicks do; one that was changed in between uploads again."""
    [once] = re.findall(r'name="once" value="(\w+)"', await plain.text("/portal"))
    form = {"file": tone(1, 550), "title": "Twice", "once": once}

    twice = await asyncio.gather(*(plain.sent("/portal/uploads", **form) for _ in range(2)))
    changed = await plain.sent("/portal/uploads", **form | {"title": "Changed"})
    [other] = re.findall(r'name="once" value="(\w+)"', await plain.text("/portal"))
    again = await plain.sent("/portal/uploads", **form | {"once": other})

    assert twice[0] == twice[1]
    assert len({twice[0], changed, again}) == 3
    for upload in (twice[0], changed, again):  # else they count when the next test uploads
        assert await plain.shows(upload, "Manage the track")


async def test_rights_metadata_is_saved_and_told(plain: PlainBrowser) -> None:
    """It cannot be dropped while the Portal template attaches it."""
    form = {"owner": "Plain Records", "parties": "Ada; 50; 33.3; Composer"}
    saved = await plain.led("/portal/rights", **form)
    kept = await plain.text(saved)
    await plain.led("/portal/template", **OPEN, attach_rights="on")
    async with plain.post("/portal/rights", owner="") as answer:
        in_use = await answer.text()
    await plain.led("/portal/template", **OPEN)
    async with plain.post("/portal/rights", **form | {"parties": "Ada; half"}) as wrong:
        refused = await wrong.text()
    await plain.led("/portal/rights", owner="")

    assert saved == "/portal/defaults?note=rights-saved"
    assert 'value="Plain Records"' in kept
    assert 'name="isrc"' not in kept.partition('action="/portal/rights"')[2]
    assert "Ada; 50; 33.3; Composer</textarea>" in kept
    assert (answer.status, "Your Portal template attaches" in in_use) == (409, True)
    assert (wrong.status, 'id="rights-parties-error">each line is' in refused) == (422, True)
    assert "Plain Records" not in await plain.text("/portal/defaults")


async def test_a_recordings_codes_are_asked_for_when_it_is_uploaded_and_on_its_page(
    plain: PlainBrowser,
) -> None:
    """They are published though the Portal template attaches no rights, and each is changed for itself."""
    codes = {"isrc": "USRC17607839", "iswc": "T-034.524.680-1"}
    upload = await plain.sent("/portal/uploads", file=tone(1, 660), title="Coded", **codes)
    assert await plain.shows(upload, "Manage the track")
    [track] = re.findall(r"/portal/tracks/\d+", await plain.text(upload))
    api = track.removeprefix("/portal")
    page = await plain.text(track)
    published = (await plain.json(api))["rights"]
    await plain.sent(track, title="Coded", isrc="", iswc=codes["iswc"])

    assert 'name="isrc" type="text" value="USRC17607839"' in page
    assert published == codes
    assert (await plain.json(api))["rights"] == {"iswc": codes["iswc"]}


async def test_a_portal_template_is_kept(plain: PlainBrowser) -> None:
    """And offered again, until it is another; rights that there are none of cannot be attached."""
    saved = await plain.sent("/portal/template", **SIGNED_IN)
    kept = await plain.text(saved)
    async with plain.post("/portal/template", **SIGNED_IN, attach_rights="on") as answer:
        refused = await answer.text()
    await plain.sent("/portal/template", **OPEN)

    assert saved == "/portal/defaults?note=template-saved"
    assert re.search(r'id="template-listening-signed_in"[^>]* checked', kept)
    assert answer.status == 422
    assert '<p class="error" id="template-attach_rights-error">needs rights' in refused


async def test_choices_that_are_not_offered_are_shown_with_the_reason(plain: PlainBrowser) -> None:
    """Whoever sends them all the same is refused, and nothing is changed."""
    page = await plain.text("/portal/defaults")
    async with plain.post("/portal/template", **OPEN | {"listening": "supporters"}) as answer:
        refused = await answer.text()

    assert len(re.findall(r'id="template-listening-(?:supporters|space)"[^>]* disabled', page)) == 2
    assert page.count("This service cannot check who supports an artist.") == 2
    assert (answer.status, "This service cannot check who" in refused) == (422, True)
    assert re.search(r'id="template-listening-public"[^>]* checked', await plain.text("/portal/defaults"))


async def test_what_does_not_fit_comes_back_as_it_was_typed(plain: PlainBrowser) -> None:
    """Each fault at its field; no file, no title, an address that is none, a name that is taken."""
    assert await plain.shows(await plain.sent("/portal/albums", title="Taken"), "Taken")
    typed = {"title": "Un<b>titled", "description": "Typed once."}
    async with plain.post("/portal/uploads", **typed) as answer:
        upload = await answer.text()
    async with plain.post("/portal/profile", display_name="P", support_url="javascript:alert(1)") as answer:
        profile = await answer.text()
    async with plain.post("/portal/albums", title="Taken") as answer:
        album = await answer.text()

    assert '<p class="error" id="upload-file-error">must be given</p>' in upload
    assert 'value="Un&lt;b&gt;titled"' in upload
    assert "Typed once.</textarea>" in upload
    assert 'id="profile-support_url-error"' in profile
    assert 'value="javascript:alert(1)"' in profile
    assert (answer.status, 'id="album-title-error">You have an album at taken' in album) == (409, True)


async def test_a_form_with_too_much_in_it_comes_back_with_the_rest(plain: PlainBrowser) -> None:
    """A cover, a recording and a text over their limits; what stands behind them in the form is kept too."""
    upload = await plain.sent("/portal/uploads", file=tone(1, 770), title="Covered")
    assert await plain.shows(upload, "Manage the track")
    [track] = re.findall(r"/portal/tracks/\d+", await plain.text(upload))
    album = (await plain.sent("/portal/albums", title="Covers")).partition("?")[0]
    cover, recording, prose = bytes(100_001), bytes(8_000_001), "Long. " * 50_000

    of_cover = await plain.refused("/portal/uploads", file=tone(1, 880), image=cover, title="Typed")
    of_recording = await plain.refused("/portal/uploads", file=recording, image=b"GIF89a", title="Typed")
    of_prose = await plain.refused("/portal/uploads", description=prose, title="Typed")
    of_track = await plain.refused(track, image=cover, title="Typed")
    of_audio = await plain.refused(f"{track}/audio", file=recording)
    of_album = await plain.refused(f"{album}/cover", image=cover)
    of_profile = await plain.refused("/portal/profile", bio=prose, display_name="Typed")

    pages = of_cover, of_recording, of_prose, of_track, of_audio, of_album, of_profile
    assert [status for status, _ in pages] == [413] * 7
    faults = [re.findall(r'class="error" id="([\w-]+)">([^<]+)<', page) for _, page in pages]
    again = "Choose this file again: browsers do not keep it."
    small, large, long = (
        "This file is larger than 0.1 MB",
        "This file is larger than 8.0 MB",
        "This is too long",
    )
    assert [
        {name: told.partition(",")[0].partition(" for a form")[0] for name, told in one} for one in faults
    ] == [
        {"upload-file-lost": again, "upload-image-error": small},
        {"upload-file-error": large, "upload-image-lost": again},
        {"upload-description-error": long},
        {"details-image-error": small},
        {"audio-file-error": large},
        {"cover-image-error": small},
        {"profile-bio-error": long},
    ]
    typed = (of_cover, of_recording, of_prose, of_track, of_profile)
    assert all('value="Typed"' in page for _, page in typed)
    assert "Long. Long." in of_prose[1]


async def test_nobody_sees_or_changes_what_is_somebody_elses(
    plain: PlainBrowser, shared_net: Testnet
) -> None:
    """Nobody is led to the sign-in page; to somebody else it is not there or not theirs."""
    upload = (await plain.sent("/portal/uploads", file=tone(1, 440), title="Mine")).partition("?")[0]
    assert await plain.shows(upload, "Manage the track")
    [track] = re.findall(r"/portal/tracks/\d+", await plain.text(upload))
    other = Person(await shared_net.pds[0].create_account(f"elsewhere-{next(NUMBERS)}.test"))
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
        stranger = PlainBrowser(other, plain.site, client)
        led = [await _location(stranger, path) for path in ("/portal", upload, track)]
        await stranger.signed_in()
        seen = [await _status(stranger, path) for path in (upload, track, "/portal/jobs/none")]
        async with stranger.post(f"{track}/delete") as answer:
            changed = answer.status

    assert led == ["/login?to=portal"] * 3
    assert (seen, changed) == ([404, 403, 404], 403)


async def test_no_other_sites_form_does_anything_at_the_portal(plain: PlainBrowser) -> None:
    for path in ("/portal/uploads", "/portal/template", "/portal/albums", "/portal/tracks/1/delete"):
        async with plain.post(path, "https://evil.example", title="x") as answer:
            assert answer.status == 403, path


async def _location(browser: PlainBrowser, path: str) -> str:
    async with browser.get(path) as answer:
        return answer.headers["Location"]


async def _status(browser: PlainBrowser, path: str) -> int:
    async with browser.get(path) as answer:
        return answer.status


async def photographed(artist: Visitor, name: str) -> None:
    """Kept for people to look at, where a folder for that is named."""
    if SCREENSHOTS:
        Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
        await artist.page.screenshot(Path(SCREENSHOTS) / f"{name}.png", whole=True)


async def test_several_files_become_the_tracks_of_an_album_in_their_order(plain: PlainBrowser) -> None:
    """Each has an upload of its own and the name of its file; one that is no audio stops no other."""
    album = (await plain.sent("/portal/albums", title="Several")).partition("?")[0]
    assert await plain.shows(album, "Several")
    files = [("one.wav", tone(1, 440)), ("notes.wav", b"no sound"), ("two.wav", tone(1, 550))]

    status, told = await plain.sends_files(f"{album}/uploads", files, tags="suite", once="a")
    assert await plain.shows(album, "2 tracks")
    again = await plain.sends_files(f"{album}/uploads", [files[0], files[2]], tags="suite", once="a")
    alone = await plain.sends_files(f"{album}/uploads", [files[1]])
    nothing = await plain.sends_files(f"{album}/uploads", [("", b"")])
    page = await plain.text(album)

    assert (status, "2 of 3 files were received." in told) == (422, True)
    assert '<p class="error">notes.wav: This file cannot be read as audio.</p>' in told
    assert 'value="suite"' in told
    assert 'name="once" value="a"' in told
    assert again == (303, f"{album}?note=uploads-begun")
    assert (alone[0], "uploads-recordings-error" in alone[1]) == (415, True)
    assert (nothing[0], "must be at least one file" in nothing[1]) == (422, True)
    assert re.findall(r"<bdi>(one|two)</bdi>", page) == ["one", "two"]


@pytest.mark.slow
async def test_an_album_is_uploaded_at_once_and_each_file_tells_how_far_it_is(
    artist: Visitor, tmp_path: Path
) -> None:
    """In the browser: the refused file says why, and the others are on the album when all is done."""
    page, files = artist.page, [tmp_path / name for name in ("first.wav", "notes.wav", "second.wav")]
    for path, sound in zip(files, (tone(1, 440), b"no sound", tone(1, 550)), strict=True):
        path.write_bytes(sound)
    await artist.is_signed_in("/portal")
    await artist.goes("Save the profile", "/portal")
    await page.call("Page.navigate", url=f"{artist.site}/portal/albums")
    await page.arrive(f"{artist.site}/portal/albums")
    await page.fill("#album-title", "Pair")
    await artist.goes("Create the album", "/portal/albums/")

    await page.choose_file("#uploads-recordings", *files)
    await page.click("Upload")
    rows = "[...document.querySelectorAll('[data-sent] li')].map((one) => one.innerText)"
    await page.until("document.querySelectorAll('#tracks + ol bdi').length === 2")
    told = await page.evaluate(rows)
    listed = await page.evaluate(
        "[...document.querySelectorAll('#tracks + ol bdi')].map((one) => one.textContent)"
    )

    assert [one.split("\n")[0] for one in told] == ["first.wav", "notes.wav", "second.wav"]
    assert "The track is published." in told[0]
    assert "This file cannot be read as audio." in told[1]
    assert listed == ["first", "second"]
    assert await barriers(page) == []
    assert [one for one in artist.complaints if "415" not in one] == []


async def test_an_artist_has_a_picture(plain: PlainBrowser) -> None:
    """It is a blob at the artist's server, stays when a text is saved, and can be removed."""
    picture = cover(64, 64, (20, 20, 60), (200, 200, 240))

    saved = await plain.sent("/portal/profile", display_name="Plain Artist", image=picture)
    assert await plain.shows("/portal/profile", "Remove the picture")
    await plain.sent("/portal/profile", display_name="Plainest Artist", image=b"")
    assert await plain.shows("/portal/profile", "Plainest Artist")
    kept = await plain.text("/portal/profile")
    no_picture = await plain.refused("/portal/profile", display_name="Typed", image=b"no picture")
    await plain.sent("/portal/profile", display_name="Plain Artist", remove_image="on")
    assert await plain.shows("/portal/profile", "Plain Artist")

    assert saved == "/portal/profile?note=profile-saved"
    assert re.search(r'data-preview="profile-image".*/img/baf\w+/300.webp', kept)
    assert (no_picture[0], "must be a PNG, JPEG, WebP or GIF picture" in no_picture[1]) == (422, True)
    assert "Remove the picture" not in await plain.text("/portal/profile")


async def test_the_portals_sections_and_numbers_are_an_artists_own(plain: PlainBrowser) -> None:
    """Each section has a page; numbers of tracks, private ones too, are there before any are counted."""
    upload = await plain.sent("/portal/uploads", file=tone(1, 990), title="Counted")
    assert await plain.shows(upload, "Manage the track")
    [track] = re.findall(r"/portal/tracks/\d+", await plain.text(upload))
    number = track.rpartition("/")[2]

    pages = {
        section: await plain.text(f"/portal{section}")
        for section in ("", "/albums", "/numbers", "/defaults", "/profile", f"/numbers?track={number}")
    }
    of_track = await plain.text(track)

    assert all(page.count('aria-current="true"') == 1 for page in pages.values())
    assert "Counted" in pages[f"/numbers?track={number}"]
    assert "data-player" in of_track
    assert "<audio controls" in of_track
