"""Albums: found by each of their addresses, with their tracks in list order."""

import itertools
from urllib.parse import quote

import pytest

from schemas.api.albums import Album, AlbumPage
from tests.indexer.changes import did, uri
from tests.readapi.music import UNLISTED, public_list_id

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    "path",
    [
        "/albums/mara.example/first-light",
        "/albums/MARA.Example/first-light",
        f"/albums/{did('mara')}/first-light",
        f"/albums/by-id/{public_list_id('mara', 1)}",
        f"/albums/by-id/{public_list_id('mara', 1).upper()}",
        f"/albums/by-id/{quote(str(uri('mara', 'list', 1)), safe='')}",
    ],
)
async def test_an_album_is_found_by_every_name_it_has(music, path):
    """Handle and slug, DID and slug, id, at-uri: the same album."""
    reply = await music.get(path)

    album = Album.model_validate(reply.json, strict=True)

    assert album.metadata.title == "First Light"
    assert album.metadata.uri == str(uri("mara", "list", 1))


async def test_an_albums_tracks_stand_in_list_order(music):
    """The unlisted one too, the private one not; the count says the same."""
    reply = await music.get("/albums/mara.example/first-light")

    titles = [track["title"] for track in reply.json["tracks"]]

    assert titles == ["Song 3", "Song 1", f"Song {UNLISTED}"]
    assert reply.json["metadata"]["track_count"] == 3
    assert {track["album"]["slug"] for track in reply.json["tracks"]} == {"first-light"}


async def test_albums_are_listed_in_pages(music):
    """All of them, or an artist's. Playlists are none."""
    whole = await music.get("/albums/")

    page = AlbumPage.model_validate(whole.json, strict=True)

    assert [album.title for album in page.albums] == ["First Light"]
    for path in ("/albums/?limit=1", "/albums/mara.example?limit=1"):
        pages = await music.pages(path, "albums")
        assert list(itertools.chain(*pages)) == whole.json["albums"]
    assert (await music.get("/albums/ben.example")).json["albums"] == []


@pytest.mark.parametrize(
    "path",
    [
        "/albums/nobody.example",
        "/albums/mara.example/second-light",
        "/albums/nobody.example/first-light",
        f"/albums/by-id/{public_list_id('ben', 2)}",
        "/albums/by-id/first-light",
        "/albums/by-id/at%3A%2F%2F",
    ],
)
async def test_what_names_no_album_is_not_found(music, path):
    """A playlist's id names no album."""
    assert (await music.get(path)).status == 404
