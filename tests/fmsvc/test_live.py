"""Every method of both clients against the whole service and a real PDS."""

import asyncio
import time
import zipfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fmsvc import (
    ArtistProfilePatch,
    AsyncClient,
    Client,
    ConfigurationError,
    NotAuthenticatedError,
    NotFoundError,
    PublishingDefaults,
    PublishingPolicy,
    TrackPatch,
)
from tests.fmsvc.either_client import EitherClient, public_methods
from tests.network.person import Person
from tests.patience import PATIENCE_SECONDS
from tests.readapi.studio import Artist, Studio

pytestmark = [pytest.mark.network, pytest.mark.asyncio(loop_scope="session")]
# The least that an image is: one pixel.
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478da63fcffff3f0005fe02"
    "fea735819e0000000049454e44ae426082"
)


async def eventually(ask: Callable[[], Awaitable[Any]], holds: Callable[[Any], bool]) -> Any:
    """Ask until the answer is such: what was written is found a moment later."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not holds(found := await ask()):
        assert time.monotonic() < end, found
        await asyncio.sleep(0.05)
    return found


@pytest.mark.parametrize("kind", [AsyncClient, Client])
@pytest.mark.slow
async def test_every_method_of_the_client(
    kind: type[Client | AsyncClient],
    studio: Studio,
    song: Path,
    other_song: Path,
    tmp_path: Path,
) -> None:
    artist = await studio.artist()
    made = kind(api_url=studio.door.address, token=artist.session)
    client = EitherClient(made)

    track_id = await _tracks(client, artist, song, other_song, tmp_path)
    await _reading(client, studio, artist, track_id)
    await _comments_and_likes(client, artist, track_id)
    await _playlists(client, artist, track_id, tmp_path)
    await _albums_and_publishing(client, artist, song, tmp_path)
    await _account(client, studio, artist)
    await client.close()

    assert client.called == public_methods(made)


async def _tracks(client: Any, artist: Artist, song: Path, other_song: Path, folder: Path) -> int:
    """Publish, change, replace, restore, download."""
    image = folder / "cover.png"
    image.write_bytes(PIXEL)
    seen: list[tuple[int, int]] = []
    done = await client.tracks.upload(
        song,
        "Harbour",
        tags={"sea", "dub"},
        publishing=PublishingDefaults(),
        description="Recorded outside.",
        image=image,
        on_progress=lambda *counted: seen.append(counted),
    )
    accepted = await artist.send("POST", "/tracks/", song, title="Also")
    progress = await client.tracks.upload_progress(accepted.json["upload_id"])
    assert progress.status in ("pending", "processing", "completed")
    also = (await artist.settled(progress.upload_id))["track_id"]
    await artist.track(also)  # found, however busy the indexer is
    await client.tracks.delete(also)
    size = song.stat().st_size
    assert (done.title, seen[-1]) == ("Harbour", (size, size))
    uri = (await artist.track(done.track_id))["atproto_record_uri"]

    track = await client.tracks.get(uri)
    assert (track.id, track.title, sorted(track.tags)) == (done.track_id, "Harbour", ["dub", "sea"])
    assert (track.atproto_uri, track.description) == (uri, "Recorded outside.")
    assert await client.tracks.get_by_uri(uri) == await client.tracks.get(track.id) == track
    assert await client.tracks.id_of(uri) == track.id
    assert [one.id for one in await client.tracks.my(q="harb")] == [track.id]
    assert [one.id for one in await client.tracks.iterate_my()] == [track.id]
    assert track.id in [one.id for one in await client.tracks.list(artist_did=artist.did)]
    assert await client.tracks.iterate(artist_did=artist.did, tags=["no such tag"]) == []

    changed = await client.tracks.update(track.id, TrackPatch(title="Harbour Wall", tags=["sea"]))
    assert (changed.title, changed.tags, changed.description) == (
        "Harbour Wall",
        ["sea"],
        "Recorded outside.",
    )

    replaced = await client.tracks.replace_audio(track.id, other_song)
    await eventually(
        lambda: client.tracks.get(track.id), lambda found: found.pds_blob_cid != track.pds_blob_cid
    )
    assert (replaced.track_id, replaced.title) == (track.id, "Harbour Wall")
    [earlier] = await client.tracks.revisions(track.id)
    displaced = await client.tracks.restore_revision(track.id, earlier.id)
    assert displaced.track_id == track.id

    await eventually(
        lambda: client.tracks.get(track.id), lambda found: found.pds_blob_cid == track.pds_blob_cid
    )
    path = await client.tracks.download(track.id, folder)
    assert (path.name, path.read_bytes()) == (f"Harbour Wall{song.suffix}", song.read_bytes())
    return int(track.id)


async def _reading(client: Any, studio: Studio, artist: Artist, track_id: int) -> None:
    """Search, lists, totals, proofs."""
    page = await client.discover.search("harbour wall", type="tracks", artist_did=artist.did)
    assert [hit.id for hit in page.results] == [track_id]
    assert track_id in [hit.id for hit in await client.discover.iterate("harbour", type="tracks", limit=200)]
    suggested = [one.name for one in await client.discover.suggest("harbour wa")]
    assert "Harbour Wall" in suggested
    tags = await eventually(
        lambda: client.tags.list(q="se"), lambda found: "sea" in [tag.name for tag in found]
    )
    assert all(tag.name.startswith("se") for tag in tags)
    assert track_id in [one.id for one in await client.tags.tracks("sea")]
    assert track_id in [one.id for one in await client.tags.iterate("sea")]
    assert (await client.stats()).total_tracks >= 1
    week = await eventually(
        lambda: client.discover.series("tracks", since=datetime.now(UTC).date() - timedelta(days=6)),
        lambda found: found.series[0].total >= 1,
    )
    assert (week.metric, len(week.buckets), len(week.series[0].values)) == ("tracks", 7, 7)
    assert (await client.ready())["ready"] is True
    document = await client.oembed(f"{studio.door.address}/track/{track_id}")
    assert document["title"] == "Harbour Wall"

    proof = await client.tracks.proof(track_id)
    proved = await client.tracks.verify(track_id, plc_url=studio.net.plc_url)
    assert (proved.uri, proved.cid, proved.record["title"]) == (proof.uri, proof.cid, "Harbour Wall")


async def _comments_and_likes(client: Any, artist: Artist, track_id: int) -> None:
    comment = await client.comments.add(track_id, "Here", timestamp_ms=5)
    changed = await client.comments.update(comment.id, text="Here it begins")
    assert (changed.id, changed.timestamp_ms) == (comment.id, 5)
    listed = await eventually(
        lambda: client.comments.list(track_id),
        lambda found: [one.text for one in found] == ["Here it begins"],
    )
    assert await client.comments.iterate(track_id) == listed
    await client.comments.delete(comment.id)

    await client.tracks.like(track_id)
    await eventually(lambda: client.tracks.liked(), lambda found: [one.id for one in found] == [track_id])
    assert [one.id for one in await client.tracks.iterate_liked()] == [track_id]
    assert [one.did for one in await client.tracks.likers(track_id)] == [artist.did]
    assert [one.did for one in await client.tracks.iterate_likers(track_id)] == [artist.did]
    assert [one.id for one in await client.artists.likes(artist.account.handle)] == [track_id]
    assert [one.id for one in await client.artists.iterate_likes(artist.account.handle)] == [track_id]
    await eventually(
        lambda: client.discover.top_tracks(limit=100), lambda found: track_id in [one.id for one in found]
    )
    await client.tracks.unlike(track_id)
    await eventually(lambda: client.tracks.liked(), lambda found: found == [])
    assert await client.tracks.play(track_id) >= 1


async def _playlists(client: Any, artist: Artist, track_id: int, folder: Path) -> None:
    playlist = await client.playlists.create("Evenings")
    assert (await client.playlists.add_track(playlist.id, track_id)).track_count == 1
    whole = await eventually(
        lambda: client.playlists.get(playlist.id),
        lambda found: [one.id for one in found.tracks] == [track_id],
    )
    assert (await client.playlists.get_by_uri(whole.atproto_record_uri)).tracks == whole.tracks
    path = await client.playlists.archive(playlist.id, folder / "evenings.zip")
    with zipfile.ZipFile(path) as archive:
        assert len(archive.namelist()) == 1
    renamed = await client.playlists.update(playlist.id, name="Late Evenings", show_on_profile=True)
    assert (renamed.name, renamed.show_on_profile) == ("Late Evenings", True)
    assert [one.id for one in await client.playlists.list()] == [playlist.id]
    assert [one.id for one in await client.playlists.iterate()] == [playlist.id]
    assert [one.id for one in await client.playlists.by_artist(artist.did)] == [playlist.id]
    assert [one.id for one in await client.playlists.iterate_by_artist(artist.did)] == [playlist.id]
    assert isinstance((await client.playlists.recommendations(playlist.id)).available, bool)
    [item] = whole.tracks
    ordered = [{"uri": item.atproto_uri, "cid": item.atproto_cid}]
    assert (await client.playlists.reorder(playlist.id, ordered)).id == playlist.id
    assert (await client.playlists.remove_track(playlist.id, track_id)).track_count == 0
    await client.playlists.delete(playlist.id)
    await eventually(lambda: client.playlists.list(), lambda found: found == [])


async def _albums_and_publishing(client: Any, artist: Artist, song: Path, folder: Path) -> None:
    """An album with a track on it, whose access is changed by jobs; then all of it goes."""
    album = await client.albums.create("Tides", description="Two days")
    await eventually(lambda: client.albums.list(artist=artist.did), lambda found: len(found) == 1)
    track_id = (await client.tracks.upload(song, "Ebb", album="Tides")).track_id
    whole = await eventually(
        lambda: client.albums.get(str(album.id)), lambda found: [one.id for one in found.tracks] == [track_id]
    )
    assert (await client.albums.get_by_slug(artist.account.handle, album.slug)).tracks == whole.tracks
    assert [one.id for one in await client.albums.iterate(artist=artist.did)] == [album.id]
    assert (await client.albums.update(str(album.id), description="Three days")).description == "Three days"
    assert (await client.albums.set_cover(str(album.id), folder / "cover.png")).image_url

    unlisted = PublishingDefaults(access=PublishingPolicy(visibility="unlisted"))
    assert (await client.publishing.dry_run(track_id, unlisted)).problems == []
    job = await client.publishing.set(track_id, unlisted, idempotency_key="one")
    assert (await client.jobs.wait(job.job_id)).status == "completed"
    assert (await client.jobs.get(job.job_id)).updated_track_ids == [track_id]
    assert await client.publishing.show(track_id) == unlisted
    job = await client.publishing.set_album(str(album.id), PublishingDefaults(), replace_overrides=True)
    assert (await client.jobs.wait(job.job_id)).status == "completed"

    path = await client.albums.archive(str(album.id), folder)
    assert path == folder / f"album-{album.id}.zip"
    path.unlink()
    path.mkdir()
    with pytest.raises(ConfigurationError, match="is a folder"):
        await client.albums.archive(str(album.id), folder)
    path = await client.albums.archive(str(album.id), folder / "tides.zip")
    (folder / "any file").touch()
    assert path.stat().st_mode == (folder / "any file").stat().st_mode
    with zipfile.ZipFile(path) as archive:
        assert [archive.read(name) for name in archive.namelist()] == [song.read_bytes()]

    await client.albums.delete(str(album.id))
    await client.tracks.delete(track_id)
    await artist.shows(f"/tracks/{track_id}", lambda reply: reply.status == 404)
    with pytest.raises(NotFoundError):
        await client.tracks.get(track_id)


async def _account(client: Any, studio: Studio, artist: Artist) -> None:
    """Profile, preferences, linked accounts, tokens; the session ends last."""
    assert (await client.me())["did"] == artist.did
    assert (await client.artists.me()).did == (await client.artists.get(artist.did)).did == artist.did
    assert (await client.artists.update(ArtistProfilePatch(bio="Plays outside."))).bio == "Plays outside."
    assert (await client.capabilities()).audiences["public"].available
    before = await client.preferences.get()
    for_members = PublishingDefaults(access=PublishingPolicy(listening="signed_in"))
    after = await client.preferences.update(publishing=for_members)
    assert after.publishing_defaults == for_members != before.publishing_defaults
    assert after.scrobbling == before.scrobbling
    assert (after.show_playing, before.show_playing) == (False, False)
    assert (await client.preferences.update(show_playing=True)).show_playing
    assert (await client.preferences.update(scrobbling=False)).show_playing

    other = await studio.net.pds[0].create_account(f"other-{artist.account.handle}")
    started = await studio.door.ask(
        "POST", "/auth/add-account/start", {"handle": other.handle}, artist.session
    )
    token = await studio.door.arrive(Person(other), started.json["auth_url"])
    assert (await studio.door.exchange(token, artist.session)).status == 200
    assert (await client.me())["did"] == other.did
    assert (await client.session.switch_account(artist.did))["did"] == artist.did
    await client.session.drop_account(other.did)

    await studio.door.make_token(Person(artist.account), artist.session)
    [developer_token] = (await client.session.developer_tokens())["tokens"]
    await client.session.revoke_developer_token(developer_token["id"])
    assert (await client.session.developer_tokens())["tokens"] == []
    await client.session.logout()
    with pytest.raises(NotAuthenticatedError):
        await client.me()
