"""Audio can be replaced: the track stays what it was to others, and earlier versions can come back."""

import hashlib
import json
from pathlib import Path

import pytest

from tests.readapi.audio.sounds import sound
from tests.readapi.studio import Artist, Json, Studio, template

pytestmark = [pytest.mark.network, pytest.mark.asyncio(loop_scope="session")]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


async def replace(artist: Artist, track: Json, audio: Path) -> Json:
    reply = await artist.send("PUT", f"/tracks/{track['id']}/audio", audio)
    assert reply.status == 202, reply.json
    done = await artist.settled(reply.json["upload_id"])
    assert done["status"] == "completed", done
    return await artist.track(track["id"])


async def versions(artist: Artist, track: Json) -> list[Json]:
    return list((await artist.ask("GET", f"/tracks/{track['id']}/revisions")).json["revisions"])


async def restore(artist: Artist, track: Json, revision: Json) -> tuple[int, Json]:
    path = f"/tracks/{track['id']}/revisions/{revision['id']}/restore"
    reply = await artist.ask("POST", path)
    return reply.status, reply.json


@pytest.mark.slow
async def test_a_track_with_other_audio_is_still_the_same_track(
    studio: Studio, song: Path, other_song: Path
) -> None:
    """Its id, its likes and every other field of its record; what it was is its only earlier version."""
    mara, ben = await studio.artist(), await studio.artist()
    track = await mara.publish(song, description="Kept.")
    assert (await ben.ask("POST", f"/tracks/{track['id']}/like")).status == 200

    after = await replace(mara, track, other_song)

    record = await mara.record(track["uri"])
    assert (after["id"], after["like_count"]) == (track["id"], 1)
    assert (record["fileType"], record["duration"], record["description"]) == ("mp3", 3, "Kept.")
    assert track["updated_at"] is None
    assert after["updated_at"] > after["created_at"]
    assert record["audioBlob"]["size"] == other_song.stat().st_size
    [version] = await versions(mara, track)
    assert (version["file_type"], version["duration"], version["audio_storage"]) == ("flac", 2, "pds")
    assert (version["track_id"], version["was_gated"]) == (track["id"], False)
    assert digest(song) in studio.stored("originals")
    assert studio.stored("incoming") == []


@pytest.mark.slow
async def test_an_earlier_version_comes_back(studio: Studio, song: Path, other_song: Path) -> None:
    """And what was there then is an earlier version in turn; the same file twice is one."""
    mara = await studio.artist()
    track = await mara.publish(song)
    cid = (await mara.record(track["uri"]))["audioBlob"]["ref"]["$link"]
    await replace(mara, track, other_song)
    await replace(mara, track, other_song)
    [first] = await versions(mara, track)

    status, restored = await restore(mara, track, first)

    displaced, *_ = await versions(mara, track)
    assert (status, restored, displaced["file_type"]) == (200, displaced, "mp3")
    record = await mara.record(track["uri"])
    assert (record["audioBlob"]["ref"]["$link"], record["fileType"]) == (cid, "flac")
    assert await mara.has_blob(cid)
    assert [version["file_type"] for version in await versions(mara, track)] == ["mp3", "flac"]


async def test_a_version_that_fewer_could_hear_does_not_come_back_for_more(
    studio: Studio, tmp_path: Path
) -> None:
    """409: to restore it would publish what was not public."""
    mara = await studio.artist()
    secret, known = sound(tmp_path / "a.flac", "flac", 1.5), sound(tmp_path / "b.flac", "flac", 1.6)
    track = await mara.publish(secret, publishing=json.dumps(template("owner", "off")))
    hidden = await replace(mara, track, known)
    assert hidden["audio_storage"] == "managed"
    queued = await mara.ask("POST", f"/tracks/{track['id']}/publishing", {"settings": template()})
    await mara.job(queued)
    [version] = await versions(mara, track)

    status, refused = await restore(mara, track, version)

    assert (version["was_gated"], version["audio_storage"]) == (True, "managed")
    assert (status, refused["detail"]) == (409, "conflict")
    assert digest(secret) in studio.stored("originals")
    assert digest(known) not in studio.stored("originals")


@pytest.mark.slow
async def test_a_track_that_is_deleted_takes_its_audio_along(studio: Studio, tmp_path: Path) -> None:
    """What was kept of it here, and every earlier version."""
    mara, secret = await studio.artist(), sound(tmp_path / "a.flac", "flac", 1.7)
    track = await mara.publish(secret, publishing=json.dumps(template("owner", "off")))
    await replace(mara, track, sound(tmp_path / "b.flac", "flac", 1.8))
    before = studio.stored("originals")

    assert (await mara.ask("DELETE", f"/tracks/{track['id']}")).status == 200

    gone = set(before) - set(studio.stored("originals"))
    assert gone == {digest(secret), digest(tmp_path / "b.flac")}


async def test_only_the_artist_replaces_looks_and_restores(studio: Studio, song: Path) -> None:
    """Others are told that it is not theirs; versions that are not there are not."""
    mara, ben = await studio.artist(), await studio.artist()
    track = await mara.publish(song)

    replaced = await ben.send("PUT", f"/tracks/{track['id']}/audio", song)
    looked = await ben.ask("GET", f"/tracks/{track['id']}/revisions")
    missing = await restore(mara, track, {"id": 12345})

    assert (replaced.status, replaced.json["detail"]) == (403, "not_owner")
    assert (looked.status, looked.json["detail"]) == (403, "not_owner")
    assert missing[0] == 404
