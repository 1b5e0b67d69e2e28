"""Listeners on pages: they like tracks, comment on moments, and keep playlists, with scripts and without."""

import re
from pathlib import Path

import aiohttp
import pytest

from tests.features.pages.browser import Browser
from tests.features.pages.plain_browser import PlainBrowser
from tests.network.media import tone
from tests.readapi.studio import Studio

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.network]


@pytest.mark.slow
async def test_a_listener_reacts_to_a_track_by_its_forms(listener: PlainBrowser, studio: Studio):
    """Every form leads back to the page, which shows what was done; other sites' pages can send none."""
    artist = await studio.artist(profile=False)
    track_id, _ = await artist.write_track(title="Reacted To", duration=90)
    name = f"@{listener.person.account.handle}"
    page = await listener.text(f"/track/{track_id}")
    (like,) = re.findall(r'action="(/track/[^"]+/like)"', page)
    path = like.removesuffix("/like")

    assert await listener.led(like) == path
    assert await listener.shows(path, f'action="{path}/unlike"')
    liked = await listener.text(path)
    assert (
        await listener.led(f"{path}/comments", moment="1:07", text="That <b>bridge</b>") == f"{path}#comments"
    )
    assert await listener.shows(path, "That &lt;b&gt;bridge&lt;/b&gt;")
    commented = await listener.text(path)
    async with listener.post(like, origin="https://elsewhere.example") as foreign:
        assert foreign.status == 403
    (own,) = re.findall(r'action="([^"]+/delete)"', commented)
    edit = own.removesuffix("/delete")
    assert await listener.led(edit, moment="0:30", text="Rather here") == f"{path}#comments"
    assert await listener.shows(path, "Rather here")
    edited = await listener.text(path)
    assert await listener.led(own) == f"{path}#comments"
    assert await listener.led(f"{path}/unlike") == path
    assert await listener.shows(path, f'action="{like}"')

    assert name in page
    assert "Liked by" in liked
    assert 'data-moment="67" aria-label="Play at 1:07">1:07</a>' in commented
    assert 'data-moment="30" aria-label="Play at 0:30">0:30</a>' in edited
    assert "bridge" not in edited
    assert "Rather here" not in await listener.text(path)


async def test_a_refused_form_comes_back_with_one_sentence_and_what_was_typed(
    listener: PlainBrowser, studio: Studio
):
    """A comment and a playlist's name that do not fit; strangers come back to the page by signing in."""
    artist = await studio.artist(profile=False)
    track_id, _ = await artist.write_track(title="Refused Of", duration=90)
    (like,) = re.findall(r'action="(/track/[^"]+/like)"', await listener.text(f"/track/{track_id}"))
    path = like.removesuffix("/like")
    await listener.led(f"{path}/comments", moment="0:05", text="Mine")
    assert await listener.shows(path, "Mine")
    (own,) = re.findall(r'action="([^"]+/delete)"', await listener.text(path))
    page = await listener.led("/playlists", name="Refusals")

    late = await listener.refused_plainly(f"{path}/comments", moment="9:00", text="Too <late>")
    unread = await listener.refused_plainly(f"{path}/comments", moment="soon", text="When?")
    long = await listener.refused_plainly(own.removesuffix("/delete"), moment="0:05", text="long " * 300)
    elsewhere = await listener.refused_plainly(f"{path}/playlists", playlist_id="123")
    nameless = await listener.refused_plainly("/playlists", name=" ")
    renamed = await listener.refused_plainly(page, name="")
    moved = await listener.refused_plainly(f"{page}/order", track="at://gone", before="")
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
        stranger = PlainBrowser(listener.person, listener.site, client)
        led = [await stranger.led(like), await stranger.led(f"{page}/remove", track="at://any")]
        told = await stranger.text(led[0])
    assert await listener.led(f"{page}/delete") == "/playlists"

    assert late[:2] == (
        422,
        "Nothing was changed. moment: must not be after the track&#39;s end, 90 seconds.",
    )
    assert 'value="Too &lt;late&gt;"' in late[2]
    assert unread[:2] == (422, "Nothing was changed. moment: must be a time such as 1:07.")
    assert (long[0], long[1].partition(":")[0]) == (422, "Nothing was changed. text")
    assert '<details class="edit" open>' in long[2]
    assert elsewhere[0] == 404
    assert 'action="/track/' in elsewhere[2]
    assert (nameless[0], nameless[1].partition(":")[0]) == (422, "Nothing was changed. name")
    assert (renamed[0], renamed[1].partition(":")[0]) == (422, "Nothing was changed. name")
    assert moved[:2] == (409, "These tracks are no longer in the list.")
    assert led == [
        f"/login?to={path}&note=sign-in-first",
        f"/login?to={page}&note=sign-in-first",
    ]
    assert "You are not signed in, so nothing was changed." in told


async def test_a_listener_chooses_whether_the_profile_shows_what_they_like(
    listener: PlainBrowser, studio: Studio
):
    """On the page of the profile; the page of the account and that of its likes follow at once."""
    artist = await studio.artist(profile=False)
    track_id, _ = await artist.write_track(title="Liked In Public")
    (like,) = re.findall(r'action="(/track/[^"]+/like)"', await listener.text(f"/track/{track_id}"))
    await listener.led(like)
    profile = f"/u/{listener.person.account.handle}"
    assert await listener.shows(profile, "Liked In Public")
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
        stranger = PlainBrowser(listener.person, listener.site, client)
        shown = await stranger.text(f"{profile}/likes")

        assert await listener.led("/portal/profile/likes") == "/portal/profile?note=likes-hidden"
        hidden = await stranger.text(profile)
        async with stranger.get(f"{profile}/likes") as refused:
            assert refused.status == 404
        assert "Liked In Public" in await listener.text(f"{profile}/likes")
        again = await listener.led("/portal/profile/likes", show_liked_on_profile="on")

        assert again == "/portal/profile?note=likes-shown"
        assert "Liked In Public" in await stranger.text(profile)
        await listener.led(like.removesuffix("/like") + "/unlike")

    assert "Liked In Public" in shown
    assert "Liked In Public" not in hidden


@pytest.mark.slow
async def test_a_listener_keeps_playlists_by_their_forms(listener: PlainBrowser, studio: Studio):
    """Made, filled on the pages of tracks, put in order, renamed, deleted; strangers have to sign in."""
    artist = await studio.artist(profile=False)
    written = {title: await artist.write_track(title=title) for title in ("First", "Second", "Third")}

    page = await listener.led("/playlists", name="For the <train>")
    playlist_id = page.removeprefix("/playlists/")
    for track_id, _ in written.values():
        there = await listener.text(f"/track/{track_id}")
        assert f'<option value="{playlist_id}">For the &lt;train&gt;</option>' in there
        (add,) = re.findall(r'action="(/track/[^"]+/playlists)"', there)
        assert await listener.led(add, playlist_id=playlist_id) == f"/playlist/{playlist_id}"
    third, first = written["Third"][1].uri, written["First"][1].uri
    assert await titles(listener, page) == ["First", "Second", "Third"]
    assert await listener.led(f"{page}/order", track=third, before=first) == page
    moved = await titles(listener, page)
    assert await listener.led(f"{page}/remove", track=first) == page
    left = await titles(listener, page)
    assert 'Add<span class="unseen"> First</span>' in await listener.text(page)  # it would fit
    assert await listener.led(page, name="Renamed") == page
    assert await listener.shows("/playlists", "not on your profile")
    async with aiohttp.ClientSession() as stranger:
        for path in ("/liked", "/playlists", page):
            async with stranger.get(listener.site + path, allow_redirects=False) as sent:
                assert (sent.status, sent.headers["Location"][:6]) == (303, "/login")
    assert await listener.led(f"{page}/delete") == "/playlists"

    assert moved == ["Third", "First", "Second"]
    assert left == ["Third", "Second"]
    assert await listener.shows("/playlists", "You have no playlists yet.")
    assert await listener.shows("/liked", "You like no track yet.")


@pytest.mark.slow
async def test_tracks_of_a_playlist_are_put_in_order_by_mouse_and_by_keyboard(
    listener: PlainBrowser, studio: Studio, chromium: Browser
):
    """Both in place: what was done is announced, the focus stays, and the record has the new order."""
    artist = await studio.artist(profile=False)
    path = await listener.led("/playlists", name="In order")
    for title in ("First", "Second", "Third"):
        track_id, _ = await artist.write_track(title=title)
        (add,) = re.findall(r'action="(/track/[^"]+/playlists)"', await listener.text(f"/track/{track_id}"))
        await listener.led(add, playlist_id=path.removeprefix("/playlists/"))
    page = await listener.opens(chromium, path)
    order = "[...document.querySelectorAll('[data-item] a bdi')].map((one) => one.textContent).join()"
    told = "document.querySelector('[data-moved]').textContent"

    await page.until("document.querySelectorAll('.handle').length === 3")
    await page.drag("li:last-child .handle", "li:first-child")
    await page.until("document.querySelector('[data-moved]').textContent")
    dragged = (await page.evaluate(order), await page.evaluate(told))
    await page.evaluate("document.querySelector('[data-item] [data-move] button').focus()")  # Third: Down
    await page.press("Enter")
    await page.until(f"{told}.includes('number 2')")
    pressed = await page.evaluate("document.activeElement.textContent")

    assert dragged == ("Third,First,Second", "Third is number 1 of 3.")
    assert pressed == "Down Third"
    assert await titles(listener, path) == ["First", "Third", "Second"]
    assert page.complaints == []
    await listener.led(f"{path}/delete")


async def titles(listener: PlainBrowser, page: str) -> list[str]:
    """The tracks of a playlist that is being changed, in order."""
    shown = (await listener.text(page)).partition('id="fitting"')[0]
    return re.findall(r'<li data-item="[^"]+"><span class="names"><a [^>]+><bdi>([^<]+)</bdi>', shown)


@pytest.mark.slow
async def test_a_listener_likes_and_comments_while_the_music_plays(
    listener: PlainBrowser, studio: Studio, chromium: Browser, tmp_path: Path
):
    """In a real browser: the forms are sent in place, and the player goes on; its moment is the comment's."""
    (tmp_path / "tone.wav").write_bytes(tone(30, 440))
    artist = await studio.artist()
    track = await artist.publish(tmp_path / "tone.wav", title="Played On")
    page = await listener.opens(chromium, f"/track/{track['id']}")
    sounding = "[...document.querySelectorAll('audio')].some((one) => !one.paused && one.currentTime > 1.1)"

    page.loaded.clear()
    await page.click("Like")  # nothing plays yet: the page is loaded anew
    await page.loaded.wait()
    await page.until("document.querySelector('form[action$=\"/unlike\"]')")
    await page.evaluate("window.isFirst = true, document.querySelector('.toggle').click()")
    await page.until(f"{sounding} && document.querySelector('#moment').value !== '0:00'")
    await page.fill("#text", "Here it is")
    await page.evaluate("document.querySelector('#text').form.requestSubmit()")
    await page.until("document.querySelector('.comments')?.innerText.includes('Here it is')")
    moment = await page.evaluate("Number(document.querySelector('a[data-moment]').dataset.moment)")

    assert await page.evaluate(f"window.isFirst && {sounding}")
    assert 1 <= moment < 30
    assert await page.evaluate("document.querySelector('#main [data-player]').hidden")
    assert page.complaints == []
