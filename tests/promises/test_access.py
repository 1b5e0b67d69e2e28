"""Who may meet, hear and keep what: every audience, every label's effect, every viewer, every route.

What is expected is written here, not asked of `schemas.access`. The tracks are made from the audiences that
there are, so that a new one fails until its rows are written.
"""

import hashlib
import io
import itertools
import re
import zipfile
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import pytest
import pytest_asyncio

from indexer.catalog.published.snapshots import Snapshots
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.repo.changes import RecordChange
from readapi.audio import waveforms
from readapi.audio.blob_cache import cid_of
from readapi.pictures import cache as pictures
from schemas.access import DOWNLOADS, LISTENING, VISIBILITY
from schemas.audio import BARS
from schemas.ids import checked_id
from schemas.label_policy import EFFECTS
from schemas.labels import Label
from schemas.service_identity import service_did
from schemas.settings import Settings
from tests import documents
from tests.indexer.changes import album, comment, did, like, put, uri
from tests.network.space_host import SERVICE, signed
from tests.readapi.audio.listening import Listening, listening
from tests.readapi.audio.sounds import sound
from tests.readapi.music import PRIVATE, SUPPORTERS, UNLISTED, public_list_id, track_id
from tests.readapi.spaces.private import Private, private, private_spaces

START = datetime(2026, 1, 1, tzinfo=UTC)

in_module = pytest.mark.asyncio(loop_scope="module")

# Nobody; somebody whose credential is of no use; signed in; a supporter of the artist; the artist.
VIEWERS = ("nobody", "stranger", "signed_in", "supporter", "owner")
PEOPLE = {"signed_in": "ben", "supporter": "ida", "owner": "mara"}

# Visibility → who meets the track in that kind of place.
DISCOVERED = {"public": VIEWERS, "unlisted": ("owner",), "private": ("owner",)}
KNOWN = {"public": VIEWERS, "unlisted": VIEWERS, "private": ("owner",)}
FOUND = {"public": VIEWERS, "unlisted": VIEWERS, "private": ()}

# Listening, downloads → what each viewer is answered, in the order of VIEWERS.
HEARD = {
    "public": (200, 200, 200, 200, 200),
    "signed_in": (401, 401, 200, 200, 200),
    "supporters": (401, 401, 402, 200, 200),
    "owner": (404, 404, 404, 404, 200),
    "space": (403, 403, 403, 403, 200),
}
KEPT = {
    "open": (200, 200, 200, 200, 200),
    "ask": (200, 200, 200, 200, 200),
    "supporters": (401, 401, 402, 200, 200),
    "off": (404, 404, 404, 404, 200),
}
# The same of a track in Mara's Space, which lets in Ben: what he is answered, and the others.
IN_A_SPACE = {"nobody": 404, "stranger": 404, "signed_in": 403, "supporter": 403, "member": 200, "owner": 200}
IN_THE_SPACE = {**PEOPLE, "signed_in": "sol", "member": "ben"}
CODES = {401: "not_authenticated", 402: "support_required", 403: "space_refused", 404: "not_found"}


@dataclass(frozen=True, slots=True)
class Song:
    """The nth track of Mara's, and its audiences."""

    number: int
    listening: str
    downloads: str
    visibility: str
    labelled: str = "none"

    @property
    def shown_as(self) -> str:
        """The visibility that it is as good as, at its own address: labels leave it to its artist."""
        return "private" if self.labelled == "hidden" else self.visibility

    @property
    def listed_as(self) -> str:
        """The same in lists, searches and players, where nobody asks for what is for adults."""
        return self.visibility if self.labelled == "none" else "private"

    @property
    def id(self) -> int:
        return track_id("mara", self.number)

    @property
    def title(self) -> str:
        return f"Matrix {self.number}"

    @property
    def address(self) -> str:
        """The last part of the address of its page, and the one before the last of its stream."""
        return checked_id(str(uri("mara", "track", self.number)))

    @property
    def original(self) -> bytes:
        return f"original {self.number}".encode()

    @property
    def rendition(self) -> bytes:
        return f"rendition {self.number}".encode()

    @property
    def file_id(self) -> str:
        return hashlib.sha256(self.original).hexdigest()

    @property
    def picture(self) -> documents.Document:
        return documents.blob("image/png", 9, f"picture {self.number}".encode())

    @property
    def access(self) -> dict[str, str]:
        return {"listening": self.listening, "downloads": self.downloads, "visibility": self.visibility}

    def heard_by(self, viewer: str) -> int:
        """What the stream answers."""
        if viewer not in KNOWN[self.shown_as]:
            return 404
        return HEARD[self.listening][VIEWERS.index(viewer)]

    def kept_by(self, viewer: str) -> int:
        """What the download answers."""
        heard = self.heard_by(viewer)
        return heard if heard != 200 else KEPT[self.downloads][VIEWERS.index(viewer)]


# Labels do not tell kinds of downloads apart.
AUDIENCES = [
    *itertools.product(LISTENING, DOWNLOADS, VISIBILITY, ["none"]),
    *itertools.product(LISTENING, ["open"], VISIBILITY, [effect for effect in EFFECTS if effect != "none"]),
]
VALUES = {"adult": "porn", "hidden": "!hide"}  # a label with this effect
SONGS = [Song(number, *audiences) for number, audiences in enumerate(AUDIENCES, 100)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Listening]:
    """A worker with all of them: tagged, liked, spoken of, in an album and in a playlist."""
    async with listening(tmp_path_factory.mktemp("stage")) as stage:
        changes = []
        for song in SONGS:
            where, fields = uri("mara", "track", song.number), {"access": song.access, "title": song.title}
            fields["image"] = song.picture
            tags = ["matrix", f"only-{song.number}"]
            changes += [
                await stage.song(song.original, "mara", song.number, song.rendition, tags=tags, **fields),
                like("lost", where, song.number, at=2000 + song.number),
                comment("ben", where, song.number, at=3000 + song.number, text="said", timestampMs=1),
            ]
        held = [uri("mara", "track", song.number) for song in SONGS]
        changes += [
            album("mara", held, 900, at=4000, name="Everything"),
            album("ben", held, 901, at=4001, name="Evening too", listType="playlist"),
            put("ben", "profile", at=4002),
        ]
        await stage.music.add(*changes)
        keep_peaks(stage)
        await stage.music.label(*labels())
        stage.let_support("ida", "mara")
        yield stage


def keep_peaks(stage: Listening) -> None:
    """As if every song had been measured."""
    folder = stage.music.settings.data_dir / waveforms.FOLDER
    folder.mkdir(exist_ok=True)
    for song in SONGS:
        name = f"{uri('mara', 'track', song.number)} {cid_of(song.file_id)}"
        (folder / hashlib.sha256(name.encode()).hexdigest()).write_bytes(bytes(BARS))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def credentials(stage: Listening) -> dict[str, dict[str, str]]:
    """What each viewer's requests carry."""
    found = {viewer: await stage.as_(person) for viewer, person in PEOPLE.items()}
    return {"nobody": {}, "stranger": {"Authorization": "Bearer of-no-use"}, **found}


def test_every_audience_is_decided() -> None:
    """A new one has no rows here yet."""
    assert {"none", *VALUES} == set(EFFECTS)
    assert HEARD.keys() == set(LISTENING)
    assert KEPT.keys() == set(DOWNLOADS)
    assert DISCOVERED.keys() == KNOWN.keys() == FOUND.keys() == set(VISIBILITY)


def labels() -> list[Label]:
    """What a labeler says of the songs."""
    return [
        Label("did:plc:labeler", str(uri("mara", "track", song.number)), None, VALUES[song.labelled], START)
        for song in SONGS
        if song.labelled != "none"
    ]


def expected(table: dict[str, Any], viewer: str, *, adult: bool = False) -> set[int]:
    """The ids of the songs that this viewer meets; `adult`: who asks for those, too."""
    return {song.id for song in SONGS if viewer in table[song.shown_as if adult else song.listed_as]}


def ours(tracks: Iterable[dict[str, Any]]) -> set[int]:
    """The ids of those that are among the songs."""
    return {track["id"] for track in tracks} & {song.id for song in SONGS}


async def pages(stage: Listening, path: str, member: str, login: dict[str, str]) -> list[dict[str, Any]]:
    """All of a list."""
    found, cursor = [], ""
    while True:
        reply = await stage.music.get(path + cursor, **login)
        assert reply.status == 200, (path, reply.json)
        found += reply.json[member]
        if not reply.json["has_more"]:
            return found
        cursor = f"&cursor={quote(reply.json['next_cursor'])}"


@in_module
@pytest.mark.parametrize("viewer", VIEWERS)
async def test_lists_show_what_this_viewer_may_meet_there(
    stage: Listening, credentials: dict[str, dict[str, str]], viewer: str
) -> None:
    """Everybody's, an artist's, a tag's, an album's, a playlist's, and what somebody likes."""
    login, get = credentials[viewer], stage.music.get

    everybodys = await pages(stage, "/tracks/?limit=100", "tracks", login)
    popular = await pages(stage, "/tracks/?limit=100&sort=popular", "tracks", login)
    artists = await pages(stage, f"/tracks/?limit=100&artist_did={did('mara')}", "tracks", login)
    tagged = await pages(stage, "/tracks/tags/matrix?limit=100", "tracks", login)
    by_tag = await pages(stage, "/tracks/?limit=100&tags=matrix", "tracks", login)
    on_album = (await get(f"/albums/by-id/{public_list_id('mara', 900)}", **login)).json["tracks"]
    in_playlist = (await get(f"/lists/playlists/{public_list_id('ben', 901)}", **login)).json["tracks"]
    liked = await pages(stage, f"/users/{did('lost')}/likes?limit=100", "tracks", login)

    for listed in (everybodys, popular, tagged, by_tag, in_playlist):
        assert ours(listed) == expected(DISCOVERED, viewer)
    assert ours(artists) == ours(on_album) == expected(KNOWN, viewer)
    assert ours(liked) == {song.id for song in SONGS if song.listed_as == "public"}


@in_module
@pytest.mark.parametrize("viewer", VIEWERS)
async def test_who_asks_for_it_is_shown_what_is_for_adults(
    stage: Listening, credentials: dict[str, dict[str, str]], viewer: str
) -> None:
    """In every list, search and player; what labels hide stays hidden."""
    login, get = credentials[viewer], stage.music.get

    everybodys = await pages(stage, "/tracks/?limit=100&adult=true", "tracks", login)
    artists = await pages(stage, f"/tracks/?limit=100&adult=true&artist_did={did('mara')}", "tracks", login)
    tagged = await pages(stage, "/tracks/tags/matrix?limit=100&adult=true", "tracks", login)
    top = (await get("/tracks/top?limit=100&adult=true", **login)).json
    on_album = (await get(f"/albums/by-id/{public_list_id('mara', 900)}?adult=true", **login)).json["tracks"]
    playlist = f"/lists/playlists/{public_list_id('ben', 901)}?adult=true"
    in_playlist = (await get(playlist, **login)).json["tracks"]
    found = await pages(stage, "/search/?q=matrix&type=tracks&limit=50&adult=true", "results", login)
    liked = await pages(stage, f"/users/{did('lost')}/likes?limit=100&adult=true", "tracks", login)

    for listed in (everybodys, tagged, in_playlist):
        assert ours(listed) == expected(DISCOVERED, viewer, adult=True)
    assert ours(artists) == ours(on_album) == expected(KNOWN, viewer, adult=True)
    assert ours(found) == expected(FOUND, viewer, adult=True)
    assert ours(liked) == ours(top) == expected(DISCOVERED, "nobody", adult=True)
    for song in SONGS:
        player = await get(f"/embed/track/{song.id}?adult=true", **login)
        assert (player.status, song) == (404 if song.shown_as == "private" else 200, song)


@in_module
@pytest.mark.parametrize("viewer", VIEWERS)
async def test_a_track_and_all_about_it_is_shown_to_who_may_know_of_it(
    stage: Listening, credentials: dict[str, dict[str, str]], viewer: str
) -> None:
    """With what this viewer may do; to the others there is no such track."""
    login = credentials[viewer]

    for song in SONGS:
        known = viewer in KNOWN[song.shown_as]
        for about in ("", "/proof", "/likes", "/comments"):
            reply = await stage.music.get(f"/tracks/{song.id}{about}", **login)
            assert (reply.status, song) == (200 if known else 404, song), about
        shown = await stage.music.get(f"/tracks/by-uri?uri={uri('mara', 'track', song.number)}", **login)
        assert shown.status == (200 if known else 404)
        if known:
            gated, downloadable = shown.json["gated"], shown.json["downloadable"]
            assert shown.json["r2_url"] == (None if gated else shown.json["stream_url"])
            assert (gated, downloadable, song) == (
                song.heard_by(viewer) != 200,
                song.kept_by(viewer) == 200,
                song,
            )


@in_module
@pytest.mark.parametrize("viewer", VIEWERS)
async def test_recordings_are_heard_and_kept_by_who_may(
    stage: Listening, credentials: dict[str, dict[str, str]], viewer: str
) -> None:
    """By the track and by the file; whoever may only listen gets the rendition, never the original."""
    login = credentials[viewer]

    for song in SONGS:
        heard, kept = song.heard_by(viewer), song.kept_by(viewer)
        for path, status in (
            (f"/tracks/{song.id}/stream", heard),
            (f"/tracks/{song.id}/download", kept),
            (f"/audio/{song.file_id}/stream", heard),
            (f"/audio/{song.file_id}", kept),
            (f"/audio/{song.file_id}/download", kept),
        ):
            reply = await stage.music.get(path, **login)
            assert (reply.status, song) == (status, song), path
            if status != 200:
                assert reply.json["detail"] == CODES[status]
                continue
            sent = song.original if kept == 200 else song.rendition
            assert reply.json.encode() == sent, song
            for_anybody = viewer in ("nobody", "stranger")
            assert reply.headers["Cache-Control"].split(",")[0] == ("public" if for_anybody else "private")


@in_module
@pytest.mark.parametrize("viewer", VIEWERS)
async def test_pictures_are_shown_to_who_may_know_of_the_track(
    stage: Listening, credentials: dict[str, dict[str, str]], viewer: str
) -> None:
    """To the others there is none; what is shown to the artist alone is kept by nobody else."""
    folder = stage.music.settings.data_dir / pictures.FOLDER
    folder.mkdir(exist_ok=True)
    for song in SONGS:
        cid = song.picture["ref"].encode()
        (folder / f"{cid}-96.webp").write_bytes(b"RIFF")

        reply = await stage.music.get(f"/img/{cid}/96.webp", **credentials[viewer])

        assert (reply.status, song) == (200 if viewer in KNOWN[song.shown_as] else 404, song)
        if reply.status == 200:
            control = reply.headers["Cache-Control"].split(",")[0]
            assert (control, song) == ("private" if song.shown_as == "private" else "public", song)


@in_module
@pytest.mark.parametrize("viewer", VIEWERS)
async def test_plays_are_counted_of_who_may_listen(
    stage: Listening, credentials: dict[str, dict[str, str]], viewer: str
) -> None:
    """The others are refused as at the stream."""
    for song in SONGS:
        reply = await stage.music.send("POST", f"/tracks/{song.id}/play", **credentials[viewer])

        heard = song.heard_by(viewer)
        assert (reply.status, song) == (heard, song)
        assert heard == 200 or reply.json["detail"] == CODES[heard]


@in_module
@pytest.mark.parametrize("viewer", PEOPLE)
async def test_what_somebody_has_says_what_they_may_do(
    stage: Listening, credentials: dict[str, dict[str, str]], viewer: str
) -> None:
    """What they like and what goes with their playlist: a supporter may hear what is for supporters there."""
    login, person, number = credentials[viewer], PEOPLE[viewer], 5000 + VIEWERS.index(viewer)
    liked = [song for song in SONGS if song.listed_as == "public" and song.listening == "supporters"]
    likes = [
        like(person, uri("mara", "track", song.number), number + 10 * song.number, at=number)
        for song in liked
    ]
    held = album(person, [uri("mara", "track", 1)], number, at=number, name="Mine", listType="playlist")
    await stage.music.add(held, *likes)

    shown = await pages(stage, "/tracks/liked?limit=100", "tracks", login)
    playlist = f"/lists/playlists/{public_list_id(person, number)}/recommendations?limit=50"
    suggested = (await stage.music.get(playlist, **login)).json["tracks"]

    songs = {song.id: song for song in SONGS}
    assert {song.id for song in liked} <= {track["id"] for track in shown}
    for track in (*shown, *suggested):
        if song := songs.get(track["id"]):
            assert (track["gated"], song) == (song.heard_by(viewer) != 200, song)
            assert (track["downloadable"], song) == (song.kept_by(viewer) == 200, song)


@in_module
@pytest.mark.parametrize("viewer", VIEWERS)
async def test_an_archive_holds_what_this_viewer_may_keep(
    stage: Listening, credentials: dict[str, dict[str, str]], viewer: str
) -> None:
    """It names the others that they may know of, and no more."""
    path = f"/albums/{public_list_id('mara', 900)}/archive"
    async with stage.music.client.get(stage.music.address + path, headers=credentials[viewer]) as answer:
        archive = zipfile.ZipFile(io.BytesIO(await answer.read()))

    held = {archive.read(name) for name in archive.namelist() if name != "Left out.txt"}
    left_out = archive.read("Left out.txt").decode() if "Left out.txt" in archive.namelist() else ""

    named = [song for song in SONGS if viewer in KNOWN[song.listed_as]]
    assert held == {song.original for song in named if song.kept_by(viewer) == 200}
    for song in SONGS:
        is_named = f"{song.title}." in left_out
        assert (is_named, song) == (song in named and song.kept_by(viewer) != 200, song)


@in_module
@pytest.mark.parametrize("viewer", VIEWERS)
async def test_searches_find_what_is_not_private(
    stage: Listening, credentials: dict[str, dict[str, str]], viewer: str
) -> None:
    """And count no more than that."""
    found = await pages(stage, "/search/?q=matrix&type=tracks&limit=50", "results", credentials[viewer])
    counted = await stage.music.get("/search/?q=matrix&type=tracks", **credentials[viewer])
    tags = await pages(stage, "/search/?q=only&type=tags&limit=50", "results", credentials[viewer])

    assert ours(found) == expected(FOUND, viewer)
    assert counted.json["counts"]["tracks"] == len(expected(FOUND, viewer))
    assert {tag["name"] for tag in tags} == {
        f"only-{song.number}" for song in SONGS if song.listed_as == "public"
    }


@in_module
async def test_totals_tell_nothing_of_what_is_private(stage: Listening) -> None:
    """Neither tracks nor tags nor likes nor comments of it are counted."""
    public = [song for song in SONGS if song.listed_as == "public"]
    known = [song for song in SONGS if song.shown_as != "private"]

    tags = (await stage.music.get("/tracks/tags?q=only&limit=100")).json
    matrix = (await stage.music.get("/tracks/tags?q=matrix")).json
    head = (await stage.music.get("/tracks/tags/matrix")).json["tag"]
    top = (await stage.music.get("/tracks/top?limit=100")).json
    stats = (await stage.music.get("/stats")).json
    on_album = (await stage.music.get(f"/albums/by-id/{public_list_id('mara', 900)}")).json["metadata"]
    in_playlist = (await stage.music.get(f"/lists/playlists/{public_list_id('ben', 901)}")).json

    assert {tag["name"] for tag in tags} == {f"only-{song.number}" for song in public}
    assert [tag["track_count"] for tag in matrix] == [head["track_count"]] == [len(public)]
    assert ours(top) == {song.id for song in public}
    assert stats["total_tracks"] == len(known) + 12  # and those that every worker of the tests has
    assert stats["total_comments"] == len(known) + 2
    assert on_album["track_count"] == len([song for song in SONGS if song.listed_as != "private"])
    assert in_playlist["track_count"] == len(public)


@in_module
@pytest.mark.parametrize("viewer", VIEWERS)
async def test_pages_of_tracks_show_and_play_what_this_viewer_may_know_of_and_hear(
    stage: Listening, credentials: dict[str, dict[str, str]], viewer: str
) -> None:
    """What is made for somebody is kept by nobody else; strangers are offered to sign in and come back."""
    for song in SONGS:
        reply = await stage.music.get(f"/track/{song.id}", Accept="text/html", **credentials[viewer])

        known, heard = viewer in KNOWN[song.shown_as], song.heard_by(viewer) == 200
        assert (reply.status, song) == (200 if known else 404, song)
        assert (f"{stage.music.address}/tracks/{song.address}/stream" in reply.json, song) == (heard, song)
        assert ('class="wave"' in reply.json, song) == (heard, song)
        assert song.file_id not in reply.json
        if known:
            for_anybody = viewer in ("nobody", "stranger")
            assert reply.headers["Cache-Control"].split(",")[0] == ("public" if for_anybody else "private")
            assert {"Authorization", "Cookie"} <= set(reply.headers["Vary"].split(", "))
            assert (f"/login?to=/track/{song.id}-" in reply.json) == for_anybody


@in_module
@pytest.mark.parametrize("viewer", ["nobody", "owner"])
async def test_players_in_frames_know_nobody(
    stage: Listening, credentials: dict[str, dict[str, str]], viewer: str
) -> None:
    """They are a stranger's whoever looks; one that is silent leads to the track's page."""
    for song in SONGS:
        known, heard = song.listed_as != "private", song.heard_by("nobody") == 200
        reply = await stage.music.get(f"/embed/track/{song.id}", Accept="text/html", **credentials[viewer])
        embedded = await stage.music.get(f"/oembed?url={stage.music.address}/track/{song.id}")

        status = 200 if known else 404
        assert (reply.status, embedded.status, song) == (status, status, song)
        assert (f"/tracks/{song.address}/stream" in reply.json) is (known and heard)
        assert (">Open its page</a>" in reply.json) is (known and not heard)
        assert song.file_id not in reply.json
        assert not known or reply.headers["Cache-Control"].startswith("public")


@in_module
@pytest.mark.parametrize("viewer", VIEWERS)
async def test_lists_of_pages_name_and_play_what_this_viewer_may_meet_and_hear_there(
    stage: Listening, credentials: dict[str, dict[str, str]], viewer: str
) -> None:
    """Albums and artists the unlisted ones too, playlists not, and what is private for the artist alone."""
    playlist = public_list_id("ben", 901)
    shown = (
        (f"/playlist/{playlist}", DISCOVERED, viewer),
        (f"/embed/playlist/{playlist}", DISCOVERED, "nobody"),
        ("/u/mara.example/album/everything", KNOWN, viewer),
        ("/embed/album/mara.example/everything", KNOWN, "nobody"),
        ("/u/mara.example", KNOWN, viewer),
        ("/embed/artist/mara.example", KNOWN, "nobody"),
    )
    for path, table, looks in shown:
        page = await whole_page(stage, path, credentials[viewer])

        named = {song.id for song in SONGS if f"{song.title}<" in page}
        source = f'data-source="{stage.music.address}/tracks'
        played = {song.id for song in SONGS if f"{source}/{song.address}/stream" in page}
        heard = {song.id for song in SONGS if song.heard_by(looks) == 200}
        assert (named, path) == (expected(table, looks), path)
        assert (played, path) == (named & heard, path)


@in_module
@pytest.mark.parametrize("viewer", VIEWERS)
async def test_feeds_playlist_files_and_site_maps_are_a_strangers(
    stage: Listening, credentials: dict[str, dict[str, str]], viewer: str
) -> None:
    """Whoever asks: they name what is public, and lead only to the audio that everybody may hear."""
    public = {song for song in SONGS if song.listed_as == "public"}
    heard = {song.address for song in public if song.heard_by("nobody") == 200}
    lists = ("album/mara.example/everything", f"playlist/{public_list_id('ben', 901)}")
    for about in ("new", "artist/mara.example", "tag/matrix", *lists):
        for form in ("xml", "json", "m3u8", "xspf", "jspf"):
            reply = await stage.music.get(f"/feeds/{about}.{form}", **credentials[viewer])
            told = {song for song in SONGS if song.title in reply.json}
            played = {song.address for song in SONGS if f"/tracks/{song.address}/stream" in reply.json}

            assert (reply.status, played) == (200, heard), (about, form)
            assert {song.address for song in told} == (
                {song.address for song in public} if form in ("xml", "json") else heard
            ), (about, form)
            assert not any(song.file_id in reply.json for song in SONGS)
            assert reply.headers["Cache-Control"].startswith("public")

    listed = ""
    index = (await stage.music.get("/sitemap.xml", **credentials[viewer])).json
    for path in re.findall(f"<loc>{stage.music.address}(/[^<]+)</loc>", index):
        reply = await stage.music.get(path, **credentials[viewer])
        assert reply.status == 200
        listed += reply.json
    assert {song for song in SONGS if f"/track/{song.address}<" in listed} == public


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api_keys(stage: Listening) -> dict[str, str]:
    """The API keys of viewers' music players."""
    return {viewer: await stage.developer_token(person) for viewer, person in PEOPLE.items()}


async def by_player(stage: Listening, key: str, method: str) -> dict[str, Any]:
    """What a method of OpenSubsonic answers; the number of the error if it refuses."""
    glue = "&" if "?" in method else "?"
    reply = await stage.music.get(f"/rest/{method}{glue}f=json&apiKey={key}")
    assert reply.status == 200, method
    told = dict(reply.json["subsonic-response"])
    return {"error": told["error"]["code"]} if told["status"] == "failed" else told


@in_module
@pytest.mark.parametrize("viewer", PEOPLE)
async def test_music_players_list_what_this_viewer_may_meet_there(
    stage: Listening, api_keys: dict[str, str], viewer: str
) -> None:
    """Everything, a tag's, an album's, a playlist's, what goes with something, and what is found."""
    album, playlist = f"al-{public_list_id('mara', 900)}", f"pl-{public_list_id('ben', 901)}"
    lists = (
        ("search3?query=&songCount=500", ("searchResult3", "song"), DISCOVERED),
        ("search2?query=&songCount=500", ("searchResult2", "song"), DISCOVERED),
        ("getSongsByGenre?genre=matrix&count=500", ("songsByGenre", "song"), DISCOVERED),
        (f"getPlaylist?id={playlist}", ("playlist", "entry"), DISCOVERED),
        (f"getAlbum?id={album}", ("album", "song"), KNOWN),
        (f"getMusicDirectory?id={album}", ("directory", "child"), KNOWN),
        ("getTopSongs?artist=mara.example&count=500", ("topSongs", "song"), KNOWN),
        ("search3?query=matrix&songCount=200", ("searchResult3", "song"), FOUND),
    )
    strangers = (
        ("getRandomSongs?genre=matrix&size=500", ("randomSongs", "song")),
        (f"getSimilarSongs?id=tr-{track_id('mara', 1)}&count=500", ("similarSongs", "song")),
        (f"getSimilarSongs2?id=tr-{track_id('mara', 1)}&count=500", ("similarSongs2", "song")),
    )
    public = {song.id for song in SONGS if song.listed_as == "public"}
    wanted = [
        *((*one[:2], expected(one[2], viewer)) for one in lists),
        *((*one, public) for one in strangers),
    ]

    for method, (member, name), ids in wanted:
        told = await by_player(stage, api_keys[viewer], method)
        addresses = {song["id"] for song in told[member][name]}
        assert ({song.id for song in SONGS if f"tr-{song.address}" in addresses}, method) == (ids, method)
        assert not any(song.file_id in str(told) for song in SONGS)


@in_module
@pytest.mark.parametrize("viewer", PEOPLE)
async def test_music_players_know_play_and_keep_what_this_viewer_may(
    stage: Listening, api_keys: dict[str, str], viewer: str
) -> None:
    """The others are refused: there is no such song, or they are not authorized."""
    numbers, key = {402: 50, 403: 50, 404: 70}, api_keys[viewer]

    for song in SONGS:
        known, heard, kept = viewer in KNOWN[song.shown_as], song.heard_by(viewer), song.kept_by(viewer)
        for method in ("getSong", "getSimilarSongs"):
            told = await by_player(stage, key, f"{method}?id=tr-{song.id}")
            assert (told.get("error"), song) == (None if known else 70, song)
        for method in ("star", "unstar", "getCoverArt") if not known else ():
            assert (await by_player(stage, key, f"{method}?id=tr-{song.address}"))["error"] == 70
        told = await by_player(stage, key, f"scrobble?id=tr-{song.address}")
        assert (told.get("error"), song) == (numbers.get(heard), song)
        for method, status in (("stream", heard), ("download", kept)):
            if status == 200:
                reply = await stage.music.get(f"/rest/{method}?id=tr-{song.address}&apiKey={key}")
                assert reply.json.encode() == (song.original if kept == 200 else song.rendition), song
                assert reply.headers["Cache-Control"].startswith("private")
            else:
                told = await by_player(stage, key, f"{method}?id=tr-{song.address}")
                assert (told["error"], song) == (numbers[status], song)


async def whole_page(stage: Listening, path: str, login: dict[str, str]) -> str:
    """A page about somebody's tracks, and those that hold the older ones."""
    shown, more = "", ""
    while True:
        reply = await stage.music.get(path + more, Accept="text/html", **login)
        assert reply.status == 200
        shown += reply.json
        older = re.search(r'href="(\?cursor=[^"]+)" rel="next"', reply.json)
        if older is None:
            return shown
        more = older[1]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def inside(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Private, dict[str, str]]]:
    """The names of tracks in Mara's Space, one for each audience of downloads; one was uploaded here."""
    folder = tmp_path_factory.mktemp("inside")
    file = sound(folder / "song.flac", "flac", 1.0)
    async with private_spaces(folder / "data") as opened:
        await opened.sign_in("sol")
        opened.stage.let_support("ida", "mara")
        opened.stage.let_support("ben", "mara")
        told = {"title": "Matrix inside", "tags": '["only-inside"]'}
        done = await opened.upload("mara", file, publishing=private("open"), **told)
        (space, author, collection, rkey) = next(iter(opened.host.records))
        written = opened.host.records[space, author, collection, rkey]
        named = {"open": str(done["track_id"])}
        others = (f"{rkey[:-1]}{ending}" for ending in "234567" if not rkey.endswith(ending))
        for downloads, other in zip(DOWNLOADS[1:], others, strict=False):
            told_of = {**written["access"], "downloads": downloads}
            opened.host.records[space, author, collection, other] = {**written, "access": told_of}
            named[downloads] = quote(f"{space}/{author}/{collection}/{other}", safe="")
        assert named.keys() == set(DOWNLOADS)
        yield opened, named


@in_module
@pytest.mark.parametrize("viewer", IN_A_SPACE)
async def test_a_track_in_a_space_is_for_whom_the_space_lets_in(
    inside: tuple[Private, dict[str, str]], viewer: str
) -> None:
    """To the others there is none; whoever wants to hear it is told that the Space refused."""
    opened, names = inside
    login = opened.logins.get(IN_THE_SPACE.get(viewer, ""), {})
    login = {"Authorization": "Bearer of-no-use"} if viewer == "stranger" else login
    is_in = IN_A_SPACE[viewer] == 200

    for downloads, name in names.items():
        as_if = {"member": "supporter"}.get(viewer, viewer)
        kept = KEPT[downloads][VIEWERS.index(as_if)] if is_in else IN_A_SPACE[viewer]
        for path, status in (
            (f"/tracks/{name}", 200 if is_in else 404),
            (f"/tracks/{name}/stream", IN_A_SPACE[viewer]),
            (f"/tracks/{name}/download", kept),
            (f"/track/{name}", 200 if is_in else 404),
        ):
            reply = await opened.stage.music.get(path, **login)
            assert (reply.status, downloads) == (status, downloads), path
            assert status == 200 or reply.json["detail"] == CODES[status]


@in_module
@pytest.mark.parametrize("viewer", IN_A_SPACE)
async def test_nothing_else_tells_of_a_track_in_a_space(
    inside: tuple[Private, dict[str, str]], viewer: str
) -> None:
    """Whoever asks: no list, search, total, player, proof or file knows of it."""
    opened, names = inside
    login = opened.logins.get(IN_THE_SPACE.get(viewer, ""), {})
    music, number = opened.stage.music, names["open"]
    blob = next(iter(opened.host.blobs))
    paths = [f"/tracks/{number}/{about}" for about in ("proof", "likes", "comments")]
    paths += [f"/embed/track/{number}", f"/oembed?url={music.address}/track/{number}"]
    paths += [f"/audio/{blob}{end}" for end in ("", "/stream", "/download")]
    lists = ["/tracks/?limit=100", f"/tracks/?limit=100&artist_did={did('mara')}", "/tracks/top?limit=50"]
    lists += ["/search/?q=inside", "/search/?q=matrix", "/tracks/tags?q=only", "/albums/", "/tracks/liked"]

    paths += [f"/feeds/tag/only-inside.{form}" for form in ("xml", "m3u8")]
    lists += [
        f"/feeds/{about}.{form}" for about in ("new", "artist/mara.example") for form in ("json", "xspf")
    ]
    lists += ["/sitemap.xml", "/sitemaps/tracks/0.xml"]

    for path in paths:
        assert (await music.get(path, **login)).status == 404, path
    assert (await music.send("POST", f"/tracks/{number}/play", **login)).status == 404
    for path in lists:
        shown = str((await music.get(path, **login)).json)
        assert "inside" not in shown, path
        assert number not in shown, path


@in_module
@pytest.mark.parametrize("person", ["mara", "ben", "ida"])
async def test_a_service_token_says_who_asks_and_opens_no_space(
    inside: tuple[Private, dict[str, str]], person: str
) -> None:
    """It grants this service nothing, also the artist's; other tracks are answered as for a session."""
    opened, names = inside
    music = opened.stage.music
    claims = {"iss": did(person), "aud": service_did(music.address), "lxm": "fm.svc.getTrack"}

    async def asked(track: str) -> tuple[int, Any]:
        login = {"Authorization": f"Bearer {signed(SERVICE, claims, opened.host.key)}"}
        reply = await music.get(f"/xrpc/fm.svc.getTrack?track={track}", **login)
        return reply.status, reply.json

    for name in names.values():
        assert await asked(name) == (404, {"error": "NotFound", "message": "There is no such track."})
    for number in (track_id("mara", 1), track_id("mara", SUPPORTERS), track_id("mara", UNLISTED)):
        session = await music.get(f"/tracks/{number}", **opened.logins[person])
        assert await asked(str(number)) == (200, session.json)
    private = track_id("mara", PRIVATE)
    assert (await asked(str(private)))[0] == (200 if person == "mara" else 404)


def test_exports_hold_nothing_private_and_no_way_to_restricted_audio(tmp_path: Path) -> None:
    """Analysts get what everybody may know of."""
    settings = Settings(data_dir=tmp_path)
    writer = Writer.open(settings)
    changes = [change for song in SONGS for change in told_of(song)]
    writer.write(Batch(changes=changes, labels=labels()))
    snapshots = Snapshots(settings, writer)
    snapshots.publish()
    writer.close()
    manifest = snapshots.export()

    files = {file.table: snapshots.exports.folder / file.path for file in manifest.exports[0].files}
    with duckdb.connect() as con:
        tracks = con.execute(f"select id, audio_url from '{files['tracks']}'").fetchall()
        about = {
            kind: con.execute(f"select count(*) from '{files[kind]}'").fetchone()
            for kind in ("likes", "comments")
        }
    addresses = {song.id: address for song in SONGS for number, address in tracks if number == song.id}

    assert addresses.keys() == expected(DISCOVERED, "nobody")
    assert {number for number, address in addresses.items() if address} == {
        song.id for song in SONGS if song.kept_by("nobody") == 200 and song.id in addresses
    }
    listed = len(expected(DISCOVERED, "nobody"))
    assert about == {"likes": (listed,), "comments": (listed,)}


def told_of(song: Song) -> list[RecordChange]:
    """The records of a song: itself, a like, a comment."""
    where, title = uri("mara", "track", song.number), song.title
    address = f"https://music.example/audio/{song.file_id}/stream"
    return [
        put("mara", "track", song.number, at=song.number, title=title, access=song.access, audioUrl=address),
        like("lost", where, song.number, at=2000 + song.number),
        comment("ben", where, song.number, at=3000 + song.number, text="said", timestampMs=1),
    ]
