"""An artist's path: a track for themselves alone, moved to another album, made public, and played once."""

import asyncio
import itertools
import json
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from schemas import data_folder
from tests.features.pages.browser import Browser, Page
from tests.features.pages.visitor import Visitor
from tests.network.media import tone
from tests.network.pds import Account
from tests.network.testnet import Testnet
from tests.patience import PATIENCE_SECONDS
from tests.readapi.studio import Studio

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.network]

NUMBERS = itertools.count(1)
TITLE = "Quietus Path"
AUDIO = re.compile(
    r"(?:https?://[^\s\"'<>&\\]+)?/(?:tracks/\d+/(?:stream|download)|audio/[^\s\"'<>&\\?]+"
    r"|xrpc/com\.atproto\.sync\.getBlob[^\s\"'<>&\\]*)"
)
ASK = """
(async (addresses) => {
  const told = {};
  for (const address of addresses) {
    const answer = await fetch(address, { headers: { Range: "bytes=0-99" }, cache: "no-store" });
    told[address] = [answer.status, answer.ok ? await answer.text() : ""];
  }
  return told;
})(%s)
"""
PLAYING = "document.querySelector('[data-player]')?.dataset.state === 'playing'"
SILENCE = "[...document.querySelectorAll('.silence')].map((one) => one.textContent).join(' ')"
RECORDING = "RIFF"  # in an archive, which holds files as they are and names what it may not hold
ONLY_ADA = "Only Ada Path can listen."


@dataclass
class Track:
    """Where a track is to be met, and where its audio could be had."""

    id: int
    uri: str
    file_id: str
    account: Account
    albums: tuple[str, str]

    @property
    def html(self) -> dict[str, str]:
        artist = f"/u/{self.account.handle}"
        return {
            "track": f"/track/{self.id}",
            "album": f"{artist}/album/first-shelf",
            "artist": artist,
            "player": f"/embed/track/{self.id}",
            "player of the album": f"/embed/album/{self.account.handle}/first-shelf",
        }

    @property
    def json(self) -> list[str]:
        """Where programs meet it: itself, newest lists, search, its artist, its album."""
        handle, did = self.account.handle, quote(self.account.did)
        return [
            f"/tracks/{self.id}",
            f"/tracks/by-uri?{urlencode({'uri': self.uri})}",
            "/tracks/",
            f"/tracks/?artist_did={did}",
            f"/search/?{urlencode({'q': TITLE})}",
            f"/artists/{handle}",
            f"/albums/{handle}/first-shelf",
            f"/albums/by-id/{self.albums[0]}",
        ]

    @property
    def audio(self) -> list[str]:
        """Where it could be had, whether or not a page says so."""
        files = [f"/audio/{self.file_id}{end}" for end in ("", "/stream", "/download")]
        return [f"/tracks/{self.id}/stream", f"/tracks/{self.id}/download", *files] + [
            f"/albums/{album}/archive" for album in self.albums
        ]


async def opened(page: Page, address: str) -> None:
    """Lead a tab to a page of ours."""
    await page.call("Page.navigate", url=address)
    await page.arrive(address)


async def ask(page: Page, addresses: list[str]) -> dict[str, tuple[int, str]]:
    """What a tab is answered with the cookies it has."""
    return dict(await page.evaluate(ASK % json.dumps(addresses)))


async def asked_until(page: Page, address: str, holds: Any) -> Any:
    """The JSON at an address, once it is such."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            status, text = (await ask(page, [address]))[address]
            if status == 200 and holds(found := json.loads(text)):
                return found
            await asyncio.sleep(0.05)


async def heard(page: Page, site: str, track: Track) -> set[str]:
    """The addresses of audio that answer in this tab, of all that any page names and all that there are."""
    await opened(page, site + track.html["track"])
    oembed = f"/oembed?{urlencode({'url': site + track.html['track']})}"
    pages = [site + path for path in (*track.html.values(), *track.json, oembed)]
    told = await ask(page, pages)
    assert {address: status for address, (status, _) in told.items() if status != 200} == {}
    named = {address for _, text in told.values() for address in AUDIO.findall(text)}
    of_track = {one for one in named if f"/{track.id}/" in one or track.file_id in one or "getBlob" in one}
    known = {site + path for path in track.audio}
    answers = await ask(page, sorted(of_track | known))
    sent = {
        address.removeprefix(site): text
        for address, (status, text) in answers.items()
        if status in (200, 206)
    }
    return {path for path, text in sent.items() if not path.endswith("/archive") or RECORDING in text}


async def silence(chromium: Browser, url: str, profile: str | None = None) -> tuple[str, bool, list[str]]:
    """What a page says instead of playing, whether it could play, and where its links lead."""
    page = await chromium.page(url, profile=profile)
    links = "[...document.querySelectorAll('#main .silence a, a.open, .silence a')].map((one) => one.href)"
    can_play = await page.evaluate("!!document.querySelector('audio, [data-source]')")
    return str(await page.evaluate(SILENCE)), bool(can_play), list(await page.evaluate(links))


@pytest.mark.slow
async def test_an_artists_path(
    studio: Studio, shared_net: Testnet, chromium: Browser, tmp_path: Path
) -> None:
    """Only they hear what is for them alone, on every page; albums follow the track; a play counts once."""
    site, recording = studio.door.address, tmp_path / "path.wav"
    recording.write_bytes(tone(2, 440))
    artist = await visitor(shared_net, chromium, site)
    other = await visitor(shared_net, chromium, site)
    stranger = await chromium.page(f"{site}/login", profile=await chromium.profile())
    await artist.sign_in("/portal")
    await other.is_signed_in("/portal")
    track = await uploaded(artist, recording)

    for page in (stranger, other.page):
        assert await heard(page, site, track) == set()
    await strangers_are_told(chromium, site, track)
    own = await heard(artist.page, site, track)
    archive = f"/albums/{track.albums[0]}/archive"
    assert {f"/tracks/{track.id}/stream", f"/audio/{track.file_id}/stream", archive} <= own
    for kind in ("track", "album", "artist"):
        await opened(artist.page, site + track.html[kind])
        await artist.page.evaluate("document.querySelector('.toggle').click()")
        await artist.page.until(PLAYING)

    await moved(artist, track)
    await made_public(artist, track)
    await played_once(stranger, studio, track)
    assert artist.complaints == []


async def visitor(net: Testnet, chromium: Browser, site: str) -> Visitor:
    """Somebody with an account, on the sign-in page of the Portal, in a browser of their own."""
    account = await net.pds[0].create_account(f"path-{next(NUMBERS)}.test")
    return Visitor(account, await chromium.page(f"{site}/portal", profile=await chromium.profile()), site)


async def uploaded(artist: Visitor, recording: Path) -> Track:
    """A profile, two albums, and a track on the first of them that only its artist may hear."""
    page, albums = artist.page, []
    await page.fill("#profile-display_name", "Ada Path")
    await artist.goes("Save the profile", "/portal")
    for title in ("First Shelf", "Second Shelf"):
        await opened(page, f"{artist.site}/portal/albums")
        await page.fill("#album-title", title)
        await artist.goes("Create the album", "/portal/albums/")
        albums.append((await page.arrive(f"{artist.site}/portal/albums/")).rpartition("/")[2])
    await opened(page, f"{artist.site}/portal")
    await page.choose_file("#upload-file", recording)
    await page.fill("#upload-title", TITLE)
    await page.evaluate(f"document.getElementById('upload-album_id').value = {json.dumps(albums[0])}")
    await page.click("Who may listen, download and find it")
    for answer in ("listening-owner", "downloads-off", "visibility-public"):
        await page.evaluate(f"document.getElementById('upload-{answer}').click()")
    await page.click("Upload: only you can listen")
    await page.arrive(f"{artist.site}/portal/uploads/")
    await page.click("Manage the track")
    number = int((await page.arrive(f"{artist.site}/portal/tracks/")).rpartition("/")[2])
    told = await asked_until(page, f"/tracks/{number}", lambda track: track["album"])
    assert (told["gated"], told["publishing"]["access"]["listening"]) == (False, "owner")
    return Track(number, told["uri"], told["file_id"], artist.account, (albums[0], albums[1]))


async def strangers_are_told(chromium: Browser, site: str, track: Track) -> None:
    """In one sentence, with a link to sign in on the track's own page, to which all others lead."""
    for kind, path in track.html.items():
        said, can_play, links = await silence(chromium, site + path)
        leads = f"{site}/login?to=/track/{track.id}" if kind == "track" else f"{site}/track/{track.id}-"
        assert (kind, ONLY_ADA in said, can_play) == (kind, True, False)
        assert [link for link in links if link.startswith(leads)], (kind, links)


async def moved(artist: Visitor, track: Track) -> None:
    """The track's form names another album; both lists say so."""
    page = artist.page
    await opened(page, f"{artist.site}/portal/tracks/{track.id}")
    await page.evaluate("document.getElementById('details-album').value = 'Second Shelf'")
    await artist.goes("Save", f"/portal/tracks/{track.id}")
    first, second = (f"/albums/by-id/{album}" for album in track.albums)
    await asked_until(page, second, lambda album: [one["title"] for one in album["tracks"]] == [TITLE])
    await asked_until(page, first, lambda album: album["tracks"] == [])
    shelves = [f"/u/{track.account.handle}/album/{slug}-shelf" for slug in ("first", "second")]
    told = await ask(page, shelves)
    assert [TITLE in told[shelf][1] for shelf in shelves] == [False, True]


async def made_public(artist: Visitor, track: Track) -> None:
    """By the track's form; the job tells when it is so."""
    page = artist.page
    await page.evaluate("document.getElementById('publishing-listening-public').click()")
    await page.click("Change who may listen")
    await page.arrive(f"{artist.site}/portal/jobs/")
    await page.until("/1 of 1 tracks/.test(document.body.innerText)")
    await asked_until(
        page, f"/tracks/{track.id}", lambda told: told["publishing"]["access"]["listening"] == "public"
    )


async def played_once(page: Page, studio: Studio, track: Track) -> None:
    """By a listener who pauses, goes on, hears it to its end, loads the page again and plays it again."""
    site, audio = studio.door.address, "document.querySelector('audio')"
    address = f"{site}/track/{track.id}"
    noted = (
        "window.told = []; const ask = window.fetch; window.fetch = async (url, options) => {"
        " const answer = await ask(url, options); told.push(answer.status); return answer; }; 0"
    )

    async def load() -> None:
        await page.call("Page.navigate", url="about:blank")
        await opened(page, address)
        await page.evaluate(noted)

    def until(condition: str) -> str:
        look = f"const look = () => ({condition}) ? done() : setTimeout(look, 10); look();"
        return f"new Promise((done) => {{ {look} }})"

    await load()
    await page.evaluate(f"{audio}.play()")
    await page.evaluate(f"{until(f'{audio}.currentTime > 0.3')}.then(() => {audio}.pause())")
    assert (await page.evaluate("told"), plays(studio, track)) == ([], 0)
    await load()  # what was heard before that does not count: half of it is to be heard in one piece
    await page.evaluate(f"{audio}.play()")
    await page.evaluate(f"{until(f'{audio}.currentTime > 0.6')}.then(() => {audio}.pause())")
    paused = (await page.evaluate("told"), plays(studio, track))
    await page.evaluate(f"{audio}.play()")
    await page.evaluate(until("told.length"))
    await page.evaluate(until(f"{audio}.ended"))
    await load()
    await page.evaluate(f"{audio}.play()")
    await page.evaluate(until("told.length"))

    assert paused == ([], 0)
    assert (await page.evaluate("told"), plays(studio, track)) == ([200], 1)
    await asked_until(page, f"/tracks/{track.id}", lambda told: told["play_count"] == 1)


def plays(studio: Studio, track: Track) -> int:
    """How many were counted, as the state database has it."""
    with closing(sqlite3.connect(studio.data_dir / data_folder.STATE_DATABASE)) as connection:
        asked = "select plays from play_counts where track_uri = ?"
        found = connection.execute(asked, (track.uri,)).fetchone()
    return 0 if found is None else int(found[0])
