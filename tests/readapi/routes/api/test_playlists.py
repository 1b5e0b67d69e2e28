"""Playlists: found by each of their addresses, showing what everybody may see."""

from urllib.parse import quote

import pytest
from pydantic import TypeAdapter

from readapi.state.state import open_state
from schemas.api.playlists import Playlist, PlaylistWithTracks
from tests.indexer.changes import did, uri
from tests.readapi.music import public_list_id

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    "path",
    [
        f"/lists/playlists/{public_list_id('ben', 2)}",
        f"/lists/playlists/{quote(str(uri('ben', 'list', 2)), safe='')}",
        f"/lists/playlists/by-uri?uri={uri('ben', 'list', 2)}",
    ],
)
async def test_a_playlist_is_found_by_every_name_it_has(music, path):
    """With its tracks in order: neither the unlisted nor the private one."""
    reply = await music.get(path)

    playlist = PlaylistWithTracks.model_validate(reply.json, strict=True)

    assert playlist.name == "Evening"
    assert playlist.owner_handle == "ben.example"
    assert [track.title for track in playlist.tracks] == ["Song 3", "Song 1"]
    assert playlist.track_count == 2


async def test_somebodys_playlists_are_a_bare_list(music):
    """Without tracks; albums are none; nobody has none."""
    reply = await music.get(f"/lists/playlists/by-artist/{did('ben')}")

    (playlist,) = TypeAdapter(list[Playlist]).validate_python(reply.json, strict=True)

    assert playlist.id == public_list_id("ben", 2)
    assert (await music.get(f"/lists/playlists/by-artist/{did('mara')}")).json == []


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/lists/playlists/{public_list_id('mara', 1)}", 404),
        ("/lists/playlists/nothing", 404),
        (f"/lists/playlists/by-uri?uri={uri('ben', 'list', 9)}", 404),
        ("/lists/playlists/by-uri?uri=nothing", 422),
        ("/lists/playlists/by-uri", 422),
        ("/lists/playlists/by-artist/ben.example", 404),
    ],
)
async def test_what_names_no_playlist_is_refused(music, path, status):
    """An album's id names no playlist."""
    assert (await music.get(path)).status == status


async def test_the_profile_shows_what_its_owner_chose(music):
    """The page and the API alike, at once; by its own address a playlist is there for everybody."""
    playlist, page, api = uri("ben", "list", 2), "/u/ben.example", f"/lists/playlists/by-artist/{did('ben')}"
    assert "Evening" in (await music.get(page)).json

    async with open_state(music.settings) as state:
        await state.showing.choose(str(playlist), False)
        hidden, listed = await music.get(page), await music.get(api)
        direct = await music.get(f"/playlist/{public_list_id('ben', 2)}")
        await state.showing.choose(str(playlist), None)

    assert "Evening" not in hidden.json
    assert listed.json == []
    assert "Evening" in direct.json
    assert "Evening" in (await music.get(page)).json
