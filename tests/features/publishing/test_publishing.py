"""Who may hear a track is changed by jobs: audio moves with the access, and each track is told of."""

import hashlib
import json
from pathlib import Path

import pytest

from tests.readapi.audio.sounds import sound
from tests.readapi.studio import Artist, Json, Studio, template

pytestmark = [pytest.mark.network, pytest.mark.asyncio(loop_scope="session")]


async def change(artist: Artist, track: Json, settings: Json | None, **headers: str) -> Json:
    """Ask for it, wait for it; the job."""
    path = f"/tracks/{track['id']}/publishing"
    return await artist.job(await artist.ask("POST", path, {"settings": settings}, **headers))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


async def test_audio_moves_with_the_access_of_its_track(studio: Studio, tmp_path: Path) -> None:
    """From the artist's server to the private store and back; at no time in both for good."""
    mara, file = await studio.artist(), sound(tmp_path / "a.flac", "flac", 1.3)
    track = await mara.publish(file, description="Kept.")
    cid = (await mara.record(track["uri"]))["audioBlob"]["ref"]["$link"]

    narrowed = await change(mara, track, template("owner", "off"))

    hidden = await mara.record(track["uri"])
    assert narrowed["status"] == "completed"
    assert narrowed["message"] == (
        "1 track changed. Copies that others have already made cannot be recalled."
    )
    assert "audioBlob" not in hidden
    assert hidden["audioUrl"].endswith(f"/audio/{digest(file)}/stream")
    assert (hidden["description"], hidden["policyOrigin"]) == ("Kept.", "track")
    assert not await mara.has_blob(cid)
    assert digest(file) in studio.stored("originals")

    widened = await change(mara, track, template())

    shown = await mara.record(track["uri"])
    assert widened["message"] == "1 track changed."
    assert shown["audioBlob"]["ref"]["$link"] == cid
    assert "audioUrl" not in shown
    assert await mara.has_blob(cid)
    assert digest(file) not in studio.stored("originals")
    assert (await mara.track(track["id"]))["audio_storage"] == "pds"


async def test_a_rendition_comes_and_goes_with_the_access(studio: Studio, tmp_path: Path) -> None:
    """Everybody may hear, nobody may have."""
    mara, file = await studio.artist(), sound(tmp_path / "b.flac", "flac", 1.4)
    track = await mara.publish(file)

    await change(mara, track, template("public", "off"))
    heard = await mara.door.ask("GET", f"/tracks/{track['id']}/stream", Range="bytes=0-3")
    assert (heard.status, heard.headers["Content-Type"]) == (206, "audio/mp4")
    await change(mara, track, template())

    assert f"{digest(file)}.m4a" not in studio.stored("renditions")


@pytest.mark.slow
async def test_null_gives_a_track_what_applies_anyway(studio: Studio, song: Path) -> None:
    """Its album's template, else the Portal's; the origin says which."""
    mara = await studio.artist()
    album = await mara.make_album("Harbour", publishing_defaults=template(visibility="unlisted"))
    own = json.dumps(template("signed_in"))
    on_album = await mara.publish(song, album_id=album, publishing=own)
    alone = await mara.publish(song, publishing=own)

    assert (await change(mara, on_album, None))["status"] == "completed"
    assert (await change(mara, alone, None))["status"] == "completed"

    told = [await mara.track(track["id"]) for track in (on_album, alone)]
    assert [(track["policy_origin"], track["publishing"]) for track in told] == [
        ("album", template(visibility="unlisted")),
        ("portal", template()),
    ]


async def test_a_job_is_queued_and_then_polled_by_its_owner(studio: Studio, song: Path) -> None:
    """202, Retry-After while it is pending, and 404 for everybody else."""
    mara, ben = await studio.artist(), await studio.artist()
    track = await mara.publish(song)

    path = f"/tracks/{track['id']}/publishing"
    queued = await mara.ask("POST", path, {"settings": template("signed_in")})
    polled = await mara.ask("GET", f"/tracks/publishing-jobs/{queued.json['job_id']}")
    done = await mara.job(queued)

    assert (queued.status, queued.json["status"]) == (202, "pending")
    assert "cannot be recalled" in queued.json["message"]
    assert polled.json["status"] == "completed" or polled.headers["Retry-After"] == "1"
    assert done["selected_track_ids"] == done["updated_track_ids"] == [track["id"]]
    assert (done["preserved_track_ids"], done["failed_track_ids"], done["failures"]) == ([], [], [])
    assert done["completed_at"] >= done["created_at"]
    assert (await ben.ask("GET", f"/tracks/publishing-jobs/{done['job_id']}")).status == 404
    assert (await ben.ask("POST", path, {"settings": None})).json["detail"] == "not_owner"


async def test_a_key_makes_one_job_of_a_request_sent_twice(studio: Studio, song: Path) -> None:
    """And refuses to stand for another one."""
    mara = await studio.artist()
    track = await mara.publish(song)
    path, settings = f"/tracks/{track['id']}/publishing", {"settings": template("signed_in")}

    first = await mara.ask("POST", path, settings, Idempotency_Key="once")
    again = await mara.ask("POST", path, settings, Idempotency_Key="once")
    other = await mara.ask("POST", path, {"settings": None}, Idempotency_Key="once")
    long = await mara.ask("POST", path, settings, Idempotency_Key="x" * 300)

    assert again.json["job_id"] == first.json["job_id"]
    assert (other.status, other.json["detail"]) == (409, "conflict")
    assert long.status == 422


@pytest.mark.slow
async def test_an_albums_job_preserves_what_tracks_decided_for_themselves(studio: Studio, song: Path) -> None:
    """Unless it is told to replace that; the album has its template from the moment that it is queued."""
    mara = await studio.artist()
    album = await mara.make_album("Harbour")
    follows = await mara.publish(song, album_id=album)
    decided = await mara.publish(song, album_id=album, publishing=json.dumps(template("signed_in")))
    path = f"/albums/{album}/publishing"

    queued = await mara.ask("POST", path, {"settings": template("signed_in", visibility="unlisted")})
    job = await mara.job(queued)

    assert queued.json["selected_track_ids"] == job["updated_track_ids"] == [follows["id"]]
    assert queued.json["preserved_track_ids"] == job["preserved_track_ids"] == [decided["id"]]
    assert (await mara.track(follows["id"]))["policy_origin"] == "album"
    assert (await mara.track(decided["id"]))["policy_origin"] == "track"
    of_album = (await mara.ask("GET", f"/albums/by-id/{album}")).json["metadata"]["publishing_defaults"]
    assert of_album == template("signed_in", visibility="unlisted")

    job = await mara.job(await mara.ask("POST", path, {"settings": None, "replace_overrides": True}))

    assert job["updated_track_ids"] == [follows["id"], decided["id"]]
    assert {(await mara.track(number))["policy_origin"] for number in job["updated_track_ids"]} == {"portal"}
    metadata = (await mara.ask("GET", f"/albums/by-id/{album}")).json["metadata"]
    assert metadata.get("publishing_defaults") is None


@pytest.mark.slow
async def test_what_fails_is_told_and_takes_nothing_back(studio: Studio, song: Path, tmp_path: Path) -> None:
    """A track whose audio is another service's cannot be restricted; the others are."""
    mara = await studio.artist()
    album = await mara.make_album("Harbour")
    ours = await mara.publish(song, album_id=album)
    made = {"title": "Away", "artist": "Mara", "fileType": "mp3", "createdAt": "2026-01-02T03:04:05Z"}
    away = await mara.account.create_record(
        "fm.svc.track", {**made, "album": "Harbour", "audioUrl": "https://away.example/a.mp3"}
    )
    elsewhere = (await mara.track_at(away.uri))["id"]

    queued = await mara.ask("POST", f"/albums/{album}/publishing", {"settings": template("signed_in")})
    job = await mara.job(queued)

    assert job["status"] == "failed"
    assert job["updated_track_ids"] == [ours["id"]]
    assert job["failed_track_ids"] == [elsewhere]
    assert job["failures"] == [
        {
            "track_id": elsewhere,
            "reason": "conflict",
            "message": "Another service stores the audio, so only that service can restrict access.",
        }
    ]
    assert job["message"] == "1 track could not be changed; 1 track could."
    assert (await mara.track(ours["id"]))["publishing"] == template("signed_in")
    assert "access" not in await mara.record(away.uri)


@pytest.mark.parametrize(
    ("kind", "settings", "status", "detail"),
    [
        ("tracks", template("supporters"), 422, "audience_unavailable"),
        ("tracks", template("space", "off", "private"), 422, "audience_unavailable"),
        ("tracks", template("space"), 422, "invalid_request"),
        ("tracks", template() | {"attach_rights": True}, 422, "invalid_request"),
        ("tracks", {"access": {}}, 422, "invalid_request"),
        ("albums", template("space", "off", "private"), 400, "private_album"),
        ("albums", template(downloads="supporters"), 422, "audience_unavailable"),
    ],
)
@pytest.mark.slow
async def test_settings_that_cannot_be_had_queue_nothing(
    studio: Studio, song: Path, kind: str, settings: Json, status: int, detail: str
) -> None:
    """The reason is told at once, and the album's template stays as it was."""
    mara = await studio.artist()
    album = await mara.make_album("Harbour")
    number = album if kind == "albums" else (await mara.publish(song))["id"]

    reply = await mara.ask("POST", f"/{kind}/{number}/publishing", {"settings": settings})

    assert (reply.status, reply.json["detail"]) == (status, detail)
    assert all(error["field"].startswith("settings.") for error in reply.json.get("errors", ()))
    assert ("errors" in reply.json) == (status == 422)
    metadata = (await mara.ask("GET", f"/albums/by-id/{album}")).json["metadata"]
    assert metadata.get("publishing_defaults") is None
