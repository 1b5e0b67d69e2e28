"""Search engines are led to every public page, and to no other."""

import re
import xml.etree.ElementTree as ET

import pytest

from readapi.index.queries import sitemap
from readapi.state.state import open_state
from schemas.ids import checked_id, list_id
from tests.indexer.changes import album, put, uri
from tests.readapi.music import Music

pytestmark = pytest.mark.asyncio(loop_scope="module")

NAMESPACE = {"s": "http://www.sitemaps.org/schemas/sitemap/0.9"}


async def addresses(music: Music, path: str) -> list[str]:
    """What a site map lists, without the origin."""
    reply = await music.get(path)
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "text/xml; charset=utf-8"
    found = ET.fromstring(reply.json).findall("*/s:loc", NAMESPACE)
    return [(place.text or "").removeprefix(music.address) for place in found]


async def listed(music: Music, kind: str) -> list[str]:
    """Everything in the site maps of a kind that the index lists."""
    maps = [path for path in await addresses(music, "/sitemap.xml") if path.startswith(f"/sitemaps/{kind}/")]
    return [address for path in maps for address in await addresses(music, path)]


async def test_public_tracks_are_listed_once_and_no_others(
    music: Music, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In as many parts as it takes."""
    monkeypatch.setattr(sitemap, "PART", 4)
    await music.add(put("mara", "track", 700, at=700))  # another snapshot, so that nothing is remembered
    known = (await music.get("/tracks/?limit=100")).json["tracks"]

    maps = await addresses(music, "/sitemap.xml")
    tracks = await listed(music, "tracks")

    assert sum(path.startswith("/sitemaps/tracks/") for path in maps) == 4
    assert sorted(tracks) == sorted(f"/track/{checked_id(track['uri'])}" for track in known)


async def test_artists_and_albums_are_listed_by_the_addresses_of_their_pages(music: Music) -> None:
    """Each can be opened."""
    await music.add(
        album("mara", [uri("mara", "track", 1)], 710, at=710, name="A <b>&amp; B"),
        album("mara", [uri("mara", "track", 1)], 711, at=711, name="A <b>&amp; B"),
    )
    artists, albums = await listed(music, "artists"), await listed(music, "albums")

    assert "/u/mara.example" in artists
    assert "/u/mara.example/album/a-b-amp-b" in albums
    assert len(set(albums)) == len(albums)
    for address in (*artists, *albums):
        async with music.client.get(music.address + address, headers={"Accept": "text/html"}) as page:
            assert page.status == 200, address


async def test_playlists_are_listed_that_profiles_show(music: Music) -> None:
    """Those that their account hides are not."""
    await music.add(
        *(
            album("ben", [uri("mara", "track", 1)], n, at=n, name="Mix", listType="playlist")
            for n in (720, 721)
        )
    )
    shown, hidden = (f"/playlist/{list_id(str(uri('ben', 'list', number)))}" for number in (720, 721))
    before = await listed(music, "playlists")
    async with open_state(music.settings) as state:
        await state.showing.choose(str(uri("ben", "list", 721)), shown=False)
    after = await listed(music, "playlists")

    assert {shown, hidden} <= set(before)
    assert set(before) - set(after) == {hidden}


@pytest.mark.parametrize("path", ["/sitemaps/tracks/99.xml", "/sitemaps/albums/99.xml", "/sitemaps/x/0.xml"])
async def test_a_part_that_is_not_there_is_not_found(music: Music, path: str) -> None:
    assert (await music.get(path)).status == 404


async def test_robots_are_told_what_to_leave_alone_and_where_the_site_map_is(music: Music) -> None:
    """Pages of accounts are closed to them, pages of music are open."""
    reply = await music.get("/robots.txt")
    closed = re.findall("^Disallow: (.*)$", reply.json, re.MULTILINE)

    assert reply.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert f"Sitemap: {music.address}/sitemap.xml" in reply.json.splitlines()
    assert {"/portal", "/settings", "/tracks/"} <= set(closed)
    assert "Allow: /tracks/*/stream" in reply.json.splitlines()
    assert not [
        page
        for page in ("/", "/track/1", "/embed/track/1", "/u/mara.example", "/tag/x")
        if page.startswith(tuple(closed))
    ]
    assert (await addresses(music, "/sitemaps/pages.xml"))[0] == "/"


@pytest.mark.parametrize("path", ["/sitemap.xml", "/sitemaps/tracks/0.xml", "/robots.txt"])
async def test_a_crawler_that_has_a_site_map_is_told_so(music: Music, path: str) -> None:
    first = await music.get(path)
    again = await music.get(path, If_None_Match=first.headers["ETag"])

    assert (first.status, again.status, again.json) == (200, 304, "")
