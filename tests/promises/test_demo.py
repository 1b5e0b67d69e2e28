"""`make demo` ends with `ready …`; then every public route answers in the shape that it is described with."""

import asyncio
import html
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import aiohttp
import jsonschema
import pytest
import pytest_asyncio
from PIL import Image
from yarl import URL

from schemas.pictures import picture_of
from tests.features.pages import browser
from tests.features.pages.browser import Browser
from tests.network.server import free_port

ARTISTS = 5
READY_SECONDS = 240.0
JSON = "application/json"
PICTURE = Path(__file__).parents[2] / "docs" / "player-and-search.png"
PLAYER, SEARCH, GAP = (400, 380), (800, 560), 20
MOST_BYTES = 200_000
DESKTOP, PHONE = (1000, 700), (390, 700)
MOST_OF_PAGE = 150_000

Json = dict[str, Any]


class Demo:
    """The demo while it runs, asked over HTTP; `said`: what it printed before it was ready."""

    def __init__(self, url: str, said: str, session: aiohttp.ClientSession) -> None:
        self.url = url
        self.said = said
        self._session = session

    async def get(self, path: str, **params: str) -> tuple[int, str, Any]:
        """Status, content type, and the body: JSON, text, or what is neither as bytes."""
        address = URL(self.url + path, encoded=True).update_query(params)
        async with self._session.get(address) as response:
            kind = response.content_type
            if kind.startswith(("audio/", "application/zip", "application/vnd.apache.parquet")):
                return response.status, kind, await response.read()
            return response.status, kind, await (response.json() if kind == JSON else response.text())

    async def ask(self, path: str, **params: str) -> Any:
        status, _, answer = await self.get(path, **params)
        assert status == 200, f"{path} {params}: {status} {answer}"
        return answer


pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def demo() -> AsyncIterator[Demo]:
    """Started as `make demo` does, with fewer artists."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.network.demo",
        f"--artists={ARTISTS}",
        env={**os.environ, "PORT": str(free_port())},
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        url, said = await asyncio.wait_for(_ready(process), READY_SECONDS)
        async with aiohttp.ClientSession() as session:
            yield Demo(url, said, session)
        process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(process.wait(), 20) == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _ready(process: asyncio.subprocess.Process) -> tuple[str, str]:
    assert process.stdout is not None
    said = b""
    async for line in process.stdout:
        if line.startswith(b"ready "):
            return line.decode().split()[1], said.decode()
        said += line
    raise AssertionError(f"the demo ended before it was ready: {said.decode()}")


async def _known(demo: Demo) -> Json:
    """Something there is for every parameter of a path and every query that has to be given."""
    tracks = await demo.ask("/tracks/top", limit="50")
    track = next(one for one in tracks if one["album"] and one["tags"] and one["audio_storage"] == "pds")
    playlist = await _some_playlist(demo)
    export, file = (await demo.ask("/exports/"))["exports"][-1]["files"][0]["path"].split("/")
    return {
        "export": export,
        "file": file,
        "track_id": track["id"],
        "file_id": track["file_id"],
        "cid": next(found for one in tracks if (found := picture_of(one["image_url"]))),
        "side": "96",
        "handle": track["artist_handle"],
        "album_or_artist": track["artist_handle"],
        "did": playlist["owner_did"],
        "artist": track["artist_did"],
        "slug": track["album"]["slug"],
        "album_id": track["album"]["id"],
        "playlist_id": playlist["id"],
        "name": track["tags"][0],
        "url": f"{demo.url}/track/{track['id']}",
        "q": track["title"],
        "uri": track["uri"],
        "playlist": playlist["atproto_record_uri"],
        "static": re.findall(r"/static/([\w.-]+)", await demo.ask("/docs"))[0],
    }


async def _some_playlist(demo: Demo) -> Json:
    for track in (await demo.ask("/tracks/", limit="100"))["tracks"]:
        if found := await demo.ask(f"/lists/playlists/by-artist/{track['artist_did']}"):
            playlist: Json = found[0]
            return playlist
    raise AssertionError("nobody has a playlist")


async def test_a_record_is_verified_by_the_command_that_is_printed(demo: Demo) -> None:
    """As it stands, in another terminal: it says where the demo's network is."""
    command = re.findall(r"^  verify +(.+)$", demo.said, re.MULTILINE)[0]

    process = await asyncio.create_subprocess_shell(command, stdout=asyncio.subprocess.PIPE)
    told, _ = await process.communicate()

    assert process.returncode == 0, told.decode()
    assert "at://" in command
    assert re.findall(rb"^(\w+) ", told, re.MULTILINE) == [b"ok"] * len(told.splitlines())


async def test_every_public_route_answers_in_its_shape(demo: Demo) -> None:
    description = await demo.ask("/openapi.json")
    known = await _known(demo)
    asked = 0
    for path, item in description["paths"].items():
        operation = item.get("get", {})
        security = operation.get("security")
        is_endless = "101" in operation.get("responses", {})
        if security is None or (security and {} not in security) or path.startswith("/auth/") or is_endless:
            continue  # there is none, it does something, never ends, or answers only accounts
        address, query = _address(path, operation, known)
        status, kind, answer = await demo.get(address, **query)

        assert status == 200, f"{address} {query}: {status} {answer}"
        declared = operation["responses"]["200"]["content"]
        assert any(fnmatch(kind, media_type) for media_type in declared), f"{address}: {kind}"
        if kind == JSON and (shape := declared[JSON].get("schema")):
            jsonschema.Draft202012Validator({**shape, "components": description["components"]}).validate(
                answer
            )
        assert answer, address
        asked += 1
    assert asked >= 30


def _address(path: str, operation: Mapping[str, Any], known: Json) -> tuple[str, dict[str, str]]:
    """A path with its parameters filled in, and the query that it needs."""
    known = known | {"name": known["static"]} if path.startswith("/static/") else known
    known = known | {"uri": known["playlist"]} if path.startswith("/lists/") else known
    filled = re.sub(r"\{(\w+)\}", lambda name: quote(str(known[name[1]]), safe=""), path)
    needed = {
        param["name"]: str(known[param["name"]])
        for param in operation.get("parameters", ())
        if param["in"] == "query" and param["required"]
    }
    return filled, needed


async def test_every_list_holds_something(demo: Demo) -> None:
    """Shapes of empty lists prove little."""
    stats = await demo.ask("/stats")

    for name in ("tracks", "artists", "likes", "comments", "albums", "playlists"):
        assert stats[f"total_{name}"] > 0
    assert (await demo.ask("/tracks/"))["tracks"]
    assert (await demo.ask("/tracks/tags"))[0]["track_count"] > 0
    assert (await demo.ask("/albums/"))["albums"]


async def test_sound_comes_from_the_artists_own_server(demo: Demo) -> None:
    """Real bytes of a real file at a real PDS, checked, and then sent from any part on."""
    tracks = (await demo.ask("/tracks/", limit="100"))["tracks"]
    track = next(track for track in tracks if track["audio_storage"] == "pds")
    part = {"Range": "bytes=100-1099"}
    async with aiohttp.ClientSession() as session:
        async with session.get(track["stream_url"]) as response:
            assert response.status == 200
            whole = await response.read()
        async with session.get(track["stream_url"], headers=part) as response:
            assert (response.status, await response.read()) == (206, whole[100:1100])


async def test_the_picture_of_the_readme_is_taken(demo: Demo, tmp_path: Path) -> None:
    """An album's player beside a search in `/docs`, kept in the folder of screenshots under its name here."""
    found = browser.find_chromium()
    if found is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no chromium here")
    folder = Path(os.environ.get("FMSVC_TEST_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    async with browser.launched(found) as chromium:
        await _player(demo, chromium, tmp_path / "player.png")
        await _search(demo, chromium, tmp_path / "search.png")

    taken = folder / PICTURE.name
    _beside_each_other(tmp_path / "player.png", tmp_path / "search.png", taken)

    assert 10_000 < taken.stat().st_size < MOST_BYTES
    assert PICTURE.stat().st_size < MOST_BYTES
    with Image.open(taken) as now, Image.open(PICTURE) as shown:
        assert now.size == shown.size


async def test_the_pictures_of_pages_are_taken(demo: Demo, tmp_path: Path) -> None:
    """Of four pages, on a phone and on a desktop, light and dark, likewise."""
    found = browser.find_chromium()
    if found is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no chromium here")
    folder = Path(os.environ.get("FMSVC_TEST_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    handle = (await _known(demo))["handle"]
    liked = await demo.ask("/tracks/top", period="all_time", limit="50")
    track = next(one for one in liked if one["image_url"] and not one["gated"] and one["artist"].isascii())
    pages: dict[str, tuple[str, tuple[int, int], Literal["light", "dark"]]] = {
        "page-home.png": ("/", DESKTOP, "light"),
        "page-track.png": (f"/track/{track['id']}", DESKTOP, "dark"),
        "page-search.png": ("/search?q=harbour", PHONE, "light"),
        "page-artist.png": (f"/u/{handle}", PHONE, "dark"),
    }
    async with browser.launched(found) as chromium:
        for name, (path, size, scheme) in pages.items():
            tab = await chromium.page(demo.url + path, *size)
            await tab.paint(scheme)
            await tab.until(
                "[...document.images].every((image) => image.complete || image.loading === 'lazy')"
            )
            await tab.screenshot(folder / name)
            with Image.open(folder / name) as taken:
                taken.convert("RGB").quantize(128).save(folder / name, optimize=True)

    for name, (_, size, _) in pages.items():
        with Image.open(folder / name) as now, Image.open(PICTURE.parent / name) as shown:
            assert now.size == shown.size == size
        assert 5_000 < (folder / name).stat().st_size < MOST_OF_PAGE
        assert (PICTURE.parent / name).stat().st_size < MOST_OF_PAGE


async def _player(demo: Demo, chromium: Browser, path: Path) -> None:
    known = await _known(demo)
    page = f"{demo.url}/u/{known['handle']}/album/{quote(known['slug'])}"
    shown = re.findall('src="([^"]+)"', (await demo.ask("/oembed", url=page))["html"])
    tab = await chromium.page(html.unescape(shown[0]), *PLAYER)
    await tab.until("[...document.images].every((image) => image.complete)")
    await tab.screenshot(path)


async def _search(demo: Demo, chromium: Browser, path: Path) -> None:
    operation = (await demo.ask("/openapi.json"))["paths"]["/search/"]["get"]
    tab = await chromium.page(
        f"{demo.url}/docs#/{quote(operation['tags'][0])}/{operation['operationId']}", *SEARCH
    )
    await tab.fill('tr[data-param-name="q"] input', "harbour")
    await tab.click("Execute")
    await tab.until("document.querySelector('.live-responses-table .highlight-code')")
    await tab.evaluate("document.querySelector('.request-url').scrollIntoView()")
    await tab.screenshot(path)


def _beside_each_other(left: Path, right: Path, path: Path) -> None:
    with Image.open(left) as player, Image.open(right) as search:
        both = Image.new("RGB", (PLAYER[0] + GAP + SEARCH[0], SEARCH[1]), "white")
        both.paste(player, (0, (SEARCH[1] - PLAYER[1]) // 2))
        both.paste(search, (PLAYER[0] + GAP, 0))
    both.quantize(128).save(path, optimize=True)
