"""No request costs more than docs/costs.md says, even over a catalogue full of what may not be shown.

COST_ROWS sets how many rows that may not be shown the listings go through (5,000; make test-long 100,000).
"""

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from readapi.processes.app import all_endpoints
from tests.indexer.changes import did, uri
from tests.promises.crowd import HANDLE, HOSTILE, crowded, developer_token, session
from tests.readapi.music import Music, Reply, public_list_id, track_id

pytestmark = pytest.mark.asyncio(loop_scope="module")

ENDPOINTS = all_endpoints()
ROWS = int(os.environ.get("COST_ROWS", "5000"))
TABLE = (Path(__file__).parents[2] / "docs" / "costs.md").read_text()
MOST = {
    route: 0 if most == "none" else int(most.replace(",", ""))
    for route, most in re.findall(r"^\| `([A-Z]+ /\S*)` \|[^|]*\| ([\d,]+|none) \|", TABLE, re.MULTILINE)
}
TWO = track_id("mara", 2)
STRANGER = {"User_Agent": "a stranger"}

# Where nothing of what is read may be shown, or only the last of it: how many; each page is looked at.
HIDING = {
    f"/users/{HANDLE}/likes?limit=1": 1,
    f"/users/{HANDLE}/likes?limit=100": 1,
    "/tracks/liked?limit=1": 1,
    "/tracks/liked?limit=50&q=nowhere": 0,
    "/tracks/me?limit=1&q=nowhere": 0,
    "/tracks/me?limit=1&q=nowhere&sort=popular": 0,
    f"/lists/playlists/by-artist/{HOSTILE}": 0,
}
# As dear as each of the others can be made, with these stores.
OTHERS = (
    "/",
    "/new",
    "/tag/ambient",
    "/tags",
    "/top?period=all_time",
    "/albums/?limit=100",
    f"/albums/{HANDLE}?limit=100",
    f"/albums/by-id/{public_list_id('mara', 1)}",
    f"/albums/{HANDLE}/everything",
    f"/lists/playlists/{public_list_id('ben', 2)}",
    "/artists/mara.example",
    "/embed/album/mara.example/first-light",
    f"/embed/artist/{HANDLE}",
    f"/embed/playlist/{public_list_id('ben', 2)}",
    f"/embed/track/{TWO}",
    "/feeds/album/mara.example/first-light.xspf",
    "/feeds/new.m3u8",
    f"/feeds/playlist/{public_list_id('ben', 2)}.xml",
    "/liked",
    "/lists/playlists",
    "/playlists",
    "/portal/numbers",
    "/portal/numbers.csv",
    f"/lists/playlists/by-uri?uri={uri('ben', 'list', 2)}",
    f"/oembed?url=at://{did('mara')}/fm.svc.track/{uri('mara', 'track', 2).rkey}",
    f"/playlist/{public_list_id('ben', 2)}",
    "/search/?q=ambient&limit=50",
    "/search/?q=common&limit=50",
    "/search/?q=common+thing&limit=50",
    "/search/?q=common+thing&limit=50&sort=recent",
    "/search/?q=comon&limit=50",
    "/search/?q=comon+thign+by+nobody&limit=50",
    "/search/suggest?q=co",
    "/search/suggest?q=common",
    f"/search/?q=song&artist_did={HOSTILE}",
    f"/track/{TWO}",
    "/tracks/?limit=100&sort=popular",
    f"/tracks/?artist_did={HOSTILE}",
    "/tracks/?tags=ambient",
    "/tracks/liked?limit=100&sort=popular",
    "/tracks/me?limit=100",
    f"/tracks/{TWO}",
    f"/tracks/{TWO}/comments?limit=100",
    f"/tracks/{TWO}/likes?limit=1",
    f"/tracks/{TWO}/likes?limit=100",
    f"/tracks/by-uri?uri={uri('mara', 'track', 2)}",
    "/tracks/tags/ambient?limit=100",
    "/tracks/top?limit=50",
    f"/u/{HANDLE}",
    f"/u/{HANDLE}/likes",
    "/u/mara.example/album/first-light",
)
# Of OpenSubsonic, asked for with an API key.
METHODS = (
    "search3?query=&songCount=500&songOffset=10000&albumCount=500&albumOffset=10000&artistCount=500",
    "search3?query=&artistCount=500&artistOffset=1000",
    "search3?query=common&songCount=500&albumCount=500&artistCount=500",
    "getArtists?",
    f"getArtist?id=ar-{HOSTILE}",
    f"getAlbum?id=si-{HOSTILE}",
    "getStarred2?",
    "getRandomSongs?size=500",
    "getSongsByGenre?genre=ambient&count=500&offset=10000",
    "getAlbumList2?type=newest&size=500&offset=10000",
    "getAlbumList2?type=frequent&size=500",
    f"getTopSongs?artist={HANDLE}&count=500",
    f"getSimilarSongs?id=ar-{HOSTILE}&count=500",
    "getPlaylists?",
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def crowd(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Music]:
    """A worker over stores that are full of what may not be shown."""
    async with crowded(tmp_path_factory.mktemp("crowd"), ROWS) as music:
        yield music


class Reader:
    """The account that wrote it all; it may not spend more rows on a request than the table allows."""

    def __init__(self, music: Music, session_id: str) -> None:
        self._music = music
        self._headers = {"Authorization": f"Bearer {session_id}"}

    async def get(self, path: str, **headers: str) -> Reply:
        folders = self._music.stores.index._folders
        before = sum(folder.rows_read for folder in folders)
        reply = await self._music.get(path, **(headers or self._headers))
        read = sum(folder.rows_read for folder in folders) - before
        assert reply.status == 200, (path, reply.json)
        assert read <= MOST[f"GET {route_of(path)}"], f"{path} read {read} rows"
        return reply


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reader(crowd: Music) -> Reader:
    """Signed in."""
    return Reader(crowd, await session(crowd))


async def test_every_route_that_anybody_may_call_is_in_the_table() -> None:
    """And every GET of people who are signed in; nothing else is."""
    routes = {
        f"{endpoint.method} {endpoint.documented_path}"
        for endpoint in ENDPOINTS
        if endpoint.method == "GET" or not endpoint.needs.signed_in
    }

    assert MOST.keys() == routes


@pytest.mark.parametrize("path", HIDING)
@pytest.mark.slow
async def test_a_page_of_what_may_not_be_shown_is_cheap_and_leads_on(reader: Reader, path: str) -> None:
    """However much it is: the pages are short or empty, and the cursors come to the end of it."""
    cursor, pages, shown = "", 0, 0
    while pages <= ROWS // 500 + 2:
        reply = await reader.get(path + cursor, **(STRANGER if "playlists" in path else {}))
        pages += 1
        shown += len(reply.json["tracks"] if isinstance(reply.json, dict) else reply.json)
        following = _following(reply)
        if following is None:
            break
        cursor = ("&" if "?" in path else "?") + f"cursor={following}"

    assert following is None
    assert shown == HIDING[path]
    assert pages > 1


@pytest.mark.parametrize("path", OTHERS)
async def test_no_answer_costs_more_than_the_table_says(reader: Reader, path: str) -> None:
    """Of any other route."""
    await reader.get(path)


async def test_no_method_of_music_players_costs_more_than_the_table_says(
    crowd: Music, reader: Reader
) -> None:
    """Each answers, and does not fail."""
    key = await developer_token(crowd)
    for method in METHODS:
        reply = await reader.get(f"/rest/{method}&f=json&apiKey={key}")
        assert (method, reply.json["subsonic-response"]["status"]) == (method, "ok")


async def test_equal_sort_keys_are_paged_like_any_other(reader: Reader) -> None:
    """Everybody who likes this track did so at one instant: each is listed once."""
    path = f"/tracks/{TWO}/likes?limit=100"
    met: list[str] = []
    cursor = ""
    for _ in range(5):
        reply = await reader.get(path + cursor)
        met += [user["did"] for user in reply.json["users"]]
        cursor = f"&cursor={reply.json['next_cursor']}"

    assert len(met) == 500
    assert len(set(met)) == 500


def route_of(path: str) -> str:
    """The route that answers at a path."""
    bare = path.partition("?")[0]
    for endpoint in sorted(ENDPOINTS, key=lambda endpoint: endpoint.path.count("/")):
        pattern = re.sub(r"{\w+:([^{}]+)}", r"(\1)", endpoint.path)
        pattern = re.sub(r"{\w+}", "[^/]+", pattern)
        if endpoint.method == "GET" and re.fullmatch(pattern, bare):
            return endpoint.documented_path
    raise LookupError(path)


def _following(reply: Reply) -> str | None:
    if isinstance(reply.json, dict):
        assert reply.json["has_more"] is (reply.json["next_cursor"] is not None)
        return reply.json["next_cursor"]
    link = re.fullmatch(r'<\?cursor=(\S+)>; rel="next"', reply.headers.get("Link", ""))
    return None if link is None else link[1]
