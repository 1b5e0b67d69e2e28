"""Clients of OpenSubsonic that others wrote play a catalogue, like, keep playlists and scrobble.

py-opensonic and subsonic-api send API keys; py-sonic, which knows none, gets one in place of its password.
"""

import asyncio
import hashlib
import io
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import libsonic
import pytest
import pytest_asyncio
from libopensonic import AsyncConnection
from libopensonic.errors import DataNotFoundError, SonicError
from PIL import Image

from tests.network.media import cover
from tests.network.person import Person
from tests.network.testnet import NODE
from tests.readapi.studio import COLLECTIONS, Artist, Studio, template

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.network]

CONSUMERS = Path(__file__).parents[2] / "consumers"
PICTURE = cover(640, 480, (20, 40, 80), (200, 220, 240))
ALL = "atproto repo:fm.svc.like repo:fm.svc.list"


@dataclass(frozen=True, slots=True)
class Shelf:
    """An artist with an album of one track and one single, and a listener with an API key."""

    studio: Studio
    artist: Artist
    listener: Artist
    key: str
    name: str
    recording: bytes

    @property
    def host(self) -> tuple[str, int]:
        address, _, port = self.studio.door.address.rpartition(":")
        return address, int(port)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shelf(studio: Studio, song: Path) -> Shelf:
    """Everything is public, and has a picture."""
    artist, listener = await studio.artist(profile=False), await studio.artist()
    name = artist.account.handle.partition(".")[0].title()
    profile = {"displayName": name, "createdAt": "2026-01-02T03:04:05.000Z"}
    await artist.account.create_record(COLLECTIONS.profile, profile, "self")
    album = await artist.make_album("Harbour Lights")
    public = json.dumps(template())
    await artist.publish(
        song, title="Slow Water", album_id=album, image=PICTURE, tags='["drone"]', publishing=public
    )
    await artist.publish(song, title="Fast Water", image=PICTURE, tags='["drone"]', publishing=public)
    key = await studio.door.make_token(Person(listener.account), listener.session, "player")
    await artist.shows(f"/artists/{artist.did}", lambda reply: reply.json.get("display_name") == name)
    return Shelf(studio, artist, listener, key, name, song.read_bytes())


def described(picture: bytes) -> tuple[str | None, int, int]:
    """A picture's format, width and height."""
    with Image.open(io.BytesIO(picture)) as opened:
        return opened.format, *opened.size


@pytest.mark.slow
async def test_py_opensonic_plays_likes_and_keeps_playlists(shelf: Shelf):
    """By forms, with an API key; whatever it reads fits its types."""
    address, port = shelf.host
    client = AsyncConnection(address, port=port, api_key=shelf.key, app_name="tests")
    try:
        assert await client.ping()
        assert (await client.token_info()).username == shelf.listener.account.handle
        found = (await client.search3(shelf.name)).artist
        assert found is not None
        artist = await client.get_artist(found[0].id)
        albums = {album.name: await client.get_album(album.id) for album in artist.album or []}
        slow, fast = albums["Harbour Lights"].song[0], albums["Singles"].song[0]
        sound = await (await client.stream(slow.id)).read()
        client.use_get = True  # ranges are for GET alone (RFC 9110, section 14.2)
        part = await (await client.stream(slow.id, byte_range="bytes=10-19")).read()
        client.use_get = False
        picture = await (await client.get_cover_art(slow.cover_art)).read()
        everything = (await client.search3("", song_count=500)).song

        assert await client.star([slow.id])
        liked = (await client.get_starred2()).song
        likes = await shelf.listener.records(COLLECTIONS.like)
        assert await client.unstar([slow.id])

        assert await client.create_playlist(name="Tides", song_ids=[slow.id, fast.id, slow.id])
        tides = next(one for one in await client.get_playlists() if one.name == "Tides")
        before = await client.get_playlist(tides.id)
        assert await client.update_playlist(tides.id, name="Ebb", song_indices_to_remove=[0])
        after = await client.get_playlist(tides.id)
        kept = await shelf.listener.records(COLLECTIONS.list)
        assert await client.delete_playlist(tides.id)
        with pytest.raises(DataNotFoundError):
            await client.get_playlist(tides.id)

        assert await client.scrobble(fast.id)
        counted = f"/tracks/{fast.id.removeprefix('tr-')}"
        await shelf.listener.shows(counted, lambda reply: reply.json["play_count"] == 1)
        extensions = {one.name for one in await client.get_open_subsonic_extensions()}
        genres = {genre.value for genre in await client.get_genres()}
        with pytest.raises(SonicError):
            await client.star(album_ids=[slow.album_id])
    finally:
        await client.cleanup()

    assert (slow.title, slow.track, slow.album, fast.album) == ("Slow Water", 1, "Harbour Lights", "Singles")
    assert (sound, part) == (shelf.recording, shelf.recording[10:20])
    assert described(picture) == ("WEBP", 640, 480)
    assert {slow.id, fast.id} <= {one.id for one in everything or []}
    assert [one.title for one in liked or []] == ["Slow Water"]
    assert len(likes) == 1
    assert [one.title for one in before.entry or []] == ["Slow Water", "Fast Water", "Slow Water"]
    assert (after.name, [one.title for one in after.entry or []]) == ("Ebb", ["Fast Water", "Slow Water"])
    assert len(kept[-1]["items"]) == 2
    assert extensions == {"apiKeyAuthentication", "formPost"}
    assert "drone" in genres


class KeyedConnection(libsonic.Connection):
    """py-sonic with an API key where it would send a password."""

    def _getBaseQdict(self) -> dict[str, str]:
        return {"f": "json", "v": self._apiVersion, "c": self._appName, "apiKey": self._rawPass}


@pytest.mark.slow
async def test_py_sonic_goes_through_the_folders(shelf: Shelf):
    """The older methods, by forms; with a password it is told what to do instead."""
    address, port = shelf.host
    keyed = KeyedConnection(address, "nobody", shelf.key, port=port)
    plain = libsonic.Connection(address, "nobody", "secret", port=port)

    def go() -> dict[str, Any]:
        letters = keyed.getIndexes()["indexes"]["index"]
        artist = next(one for letter in letters for one in letter["artist"] if one["name"] == shelf.name)
        folders = keyed.getMusicDirectory(artist["id"])["directory"]["child"]
        folder = next(one for one in folders if one["title"] == "Harbour Lights")
        [song] = keyed.getMusicDirectory(folder["id"])["directory"]["child"]
        keyed.star([song["id"]])
        liked = keyed.getStarred()["starred"]["song"]
        keyed.unstar([song["id"]])
        with pytest.raises(libsonic.errors.SonicError, match="developer token"):
            plain.getAlbumList("newest")
        return {
            "folder": (folder["isDir"], song["isDir"], song["parent"] == folder["id"]),
            "sound": keyed.stream(song["id"]).read(),
            "saved": keyed.download(song["id"]).read(),
            "picture": keyed.getCoverArt(folder["coverArt"], size=64).read(),
            "albums": [one["title"] for one in keyed.getAlbumList("newest")["albumList"]["album"]],
            "found": [one["title"] for one in keyed.search2("slow water")["searchResult2"]["song"]],
            "liked": [one["title"] for one in liked],
            "license": keyed.getLicense()["license"]["valid"],
        }

    told = await asyncio.to_thread(go)

    assert told["folder"] == (True, False, True)
    assert told["sound"] == told["saved"] == shelf.recording
    assert described(told["picture"]) == ("WEBP", 96, 72)
    assert "Harbour Lights" in told["albums"]
    assert told["found"][0] == "Slow Water"
    assert told["liked"] == ["Slow Water"]
    assert told["license"] is True


async def test_subsonic_api_from_npm_does_the_same(shelf: Shelf):
    """With an API key, in addresses."""
    if not (CONSUMERS / "node_modules" / "subsonic-api").is_dir():
        tell = pytest.fail if os.environ.get("CI") else pytest.skip
        tell("subsonic-api is not installed: npm --prefix tests/consumers ci --ignore-scripts")
    process = await asyncio.create_subprocess_exec(
        NODE,
        CONSUMERS / "subsonic.mjs",
        shelf.studio.door.address,
        shelf.key,
        shelf.name,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(30):
        said, complaint = await process.communicate()
    assert process.returncode == 0, complaint.decode()
    told = json.loads(said)

    assert (told["status"], told["scrobbled"], told["deleted"]) == ("ok", "ok", "ok")
    assert told["extensions"] == ["apiKeyAuthentication", "formPost"]
    assert told["album"] == ["Harbour Lights", ["Slow Water"]]
    assert told["found"][0] == "Slow Water"
    assert told["sound"] == [200, told["sound"][1], hashlib.sha256(shelf.recording).hexdigest()]
    assert told["cover"][:2] == [200, "image/webp"]
    assert (told["liked"], told["unliked"]) == (["Slow Water"], [])
    assert told["playlist"] == ["From npm", ["Slow Water"]]
