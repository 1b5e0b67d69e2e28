"""A file that was acknowledged becomes one record, as its artist wanted it, or a clear failure."""

import asyncio
import hashlib
import json
import shutil
import struct
import zlib
from pathlib import Path

import aiohttp
import pytest

from readapi.state.publishing import file_keys
from tests.network import media
from tests.network.pds import Json
from tests.readapi.audio.sounds import sound
from tests.readapi.studio import COLLECTIONS, Artist, Studio, read_events, template

pytestmark = [pytest.mark.network, pytest.mark.asyncio(loop_scope="session")]

OWNER = json.dumps(template("owner", "off", "unlisted"))


def png() -> bytes:
    """One white point."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(b"\0\xff")), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


async def test_a_track_is_published_at_its_artists_own_server(studio: Studio, tmp_path: Path) -> None:
    """The record says what the form said and what the file is; nothing of it stays here."""
    mara, song = await studio.artist(), sound(tmp_path / "song.flac", "flac", 2.1)
    said = {
        "title": "Low tide",
        "tags": '["sea"]',
        "description": "Slow.",
        "features": f'["{mara.account.did}"]',
    }

    track = await mara.publish(song, image=png(), **said)

    record = await mara.record(track["uri"])
    assert (record["title"], record["artist"], record["tags"]) == ("Low tide", "Mara", ["sea"])
    assert (record["fileType"], record["duration"], record["description"]) == ("flac", 2, "Slow.")
    assert (record["access"], record["policyOrigin"]) == (template()["access"], "portal")
    assert record["features"] == [{"did": mara.account.did}]
    assert record["audioBlob"]["size"] == song.stat().st_size
    assert record["image"]["mimeType"] == "image/png"
    assert "audioUrl" not in record
    assert await mara.has_blob(record["audioBlob"]["ref"]["$link"])
    assert (track["title"], track["audio_storage"]) == ("Low tide", "pds")
    assert studio.stored("incoming") == []
    assert digest(song) not in studio.stored("originals")


async def test_what_fails_after_an_upload_was_accepted_is_no_refusal(studio: Studio, song: Path) -> None:
    """The store's identity can be neither read nor written: the file and its row are there, so it goes on."""
    mara, identity = await studio.artist(), studio.data_dir / "audio" / file_keys.IDENTITY
    content = identity.read_bytes()
    identity.unlink()
    (identity / "in the way").mkdir(parents=True)
    try:
        reply = await mara.send("POST", "/tracks/", song, title="Accepted")
    finally:
        shutil.rmtree(identity)
        identity.write_bytes(content)

    assert (reply.status, reply.json.get("status")) == (202, "pending")
    assert (await mara.settled(reply.json["upload_id"]))["status"] == "completed"


@pytest.mark.parametrize(
    ("file_type", "called", "heard_as"),
    [("opus", "audio/ogg; codecs=opus", "audio/ogg"), ("webm", "video/webm", "audio/webm")],
)
@pytest.mark.slow
async def test_a_server_may_call_a_file_otherwise_than_we_do(
    studio: Studio, tmp_path: Path, file_type: str, called: str, heard_as: str
) -> None:
    """The reference one says which codec is in Ogg, and takes all WebM for films; the record repeats it."""
    mara = await studio.artist()

    track = await mara.publish(sound(tmp_path / f"song.{file_type}", file_type, 1.0))

    assert (await mara.record(track["uri"]))["audioBlob"]["mimeType"] == called
    heard = await mara.ask("HEAD", f"/tracks/{track['id']}/stream")
    assert heard.headers["Content-Type"] == heard_as


async def test_what_not_everybody_may_have_is_kept_in_the_private_store(
    studio: Studio, tmp_path: Path
) -> None:
    """The record carries no blob, only our address, where we look who asks."""
    mara, secret = await studio.artist(), sound(tmp_path / "secret.flac", "flac", 1.1)

    track = await mara.publish(secret, publishing=OWNER)

    record = await mara.record(track["uri"])
    assert "audioBlob" not in record
    assert record["audioUrl"] == f"{studio.door.address}/audio/{digest(secret)}/stream"
    assert (record["access"]["listening"], record["policyOrigin"]) == ("owner", "track")
    assert (track["audio_storage"], track["file_id"]) == ("managed", digest(secret))
    assert digest(secret) in studio.stored("originals")
    assert f"{digest(secret)}.m4a" not in studio.stored("renditions")


async def test_public_listening_of_a_protected_original_has_a_rendition(
    studio: Studio, tmp_path: Path
) -> None:
    """It is there before anybody can ask for it; the original never leaves."""
    mara, kept = await studio.artist(), sound(tmp_path / "kept.flac", "flac", 1.2)

    track = await mara.publish(kept, publishing=json.dumps(template("public", "off")))

    assert f"{digest(kept)}.m4a" in studio.stored("renditions")
    heard = await mara.door.ask("GET", f"/tracks/{track['id']}/stream", Range="bytes=4-11")
    assert (heard.status, heard.headers["Content-Type"]) == (206, "audio/mp4")


async def test_what_the_form_does_not_say_is_taken_from_the_file(studio: Studio, named_song: Path) -> None:
    """Title and album; no album record is made that nobody asked for."""
    mara = await studio.artist()

    done = await mara.send("POST", "/tracks/", named_song)
    track = await mara.track((await mara.settled(done.json["upload_id"]))["track_id"])

    record = await mara.record(track["uri"])
    assert (record["title"], record["album"]) == ("Low tide", "Harbour")
    assert await mara.records(COLLECTIONS.list) == []


@pytest.mark.slow
async def test_no_album_is_taken_from_the_file_when_none_is_wanted(studio: Studio, named_song: Path) -> None:
    """An empty `album` says that there is none; only where it is absent the file's album is taken."""
    mara = await studio.artist()
    album = await mara.make_album("Harbour")

    left_to_the_file = await mara.publish(named_song)
    on_none = await mara.publish(named_song, album="")

    assert left_to_the_file["album"]["id"] == album
    assert on_none["album"] is None
    assert "album" not in await mara.record(on_none["uri"])


@pytest.mark.slow
async def test_a_track_comes_onto_its_album_with_its_record(studio: Studio, song: Path) -> None:
    """By a name that is new, by the same name again, and by id: one album, in order."""
    mara = await studio.artist()

    first = await mara.publish(song, album="First Light")
    second = await mara.publish(song, album="first light")
    third = await mara.publish(song, album_id=second["album"]["id"])

    [album] = await mara.listed(COLLECTIONS.list)
    assert (album["value"]["name"], album["value"]["listType"]) == ("First Light", "album")
    tracks = [await mara.record(track["uri"]) for track in (first, second, third)]
    assert [record["album"] for record in tracks] == ["First Light"] * 3
    items = [item["subject"]["uri"] for item in album["value"]["items"]]
    assert items == [first["uri"], second["uri"], third["uri"]]
    held = {track["uri"]: track["cid"] for track in await mara.listed(COLLECTIONS.track)}
    assert {item["subject"]["uri"]: item["subject"]["cid"] for item in album["value"]["items"]} == held


@pytest.mark.slow
async def test_an_albums_template_applies_to_what_is_published_on_it(studio: Studio, song: Path) -> None:
    """Unless the upload brings its own; the origin says which it was."""
    mara = await studio.artist()
    album = await mara.make_album("Harbour", publishing_defaults=template("signed_in", "off"))

    of_album = await mara.publish(song, album_id=album)
    of_itself = await mara.publish(song, album_id=album, publishing=json.dumps(template()))

    assert (of_album["policy_origin"], of_album["publishing"]["access"]["listening"]) == (
        "album",
        "signed_in",
    )
    assert (of_itself["policy_origin"], of_itself["publishing"]["access"]["listening"]) == ("track", "public")


@pytest.mark.slow
async def test_a_repeated_request_makes_one_upload(studio: Studio, song: Path) -> None:
    """The same key, form and file are the same upload; any other key, form or account is another."""
    mara, nora = await studio.artist(), await studio.artist()

    async def send(artist: Artist, title: str, key: str) -> str:
        form = aiohttp.FormData({"title": title})
        form.add_field("file", song.read_bytes(), filename="a.flac")
        headers = {"Authorization": f"Bearer {artist.session}", "Idempotency-Key": key}
        url = f"{studio.door.address}/tracks/"
        async with studio.door.client.post(url, data=form, headers=headers) as answer:
            assert answer.status == 202, await answer.text()
            return str((await answer.json())["upload_id"])

    first, again = await asyncio.gather(send(mara, "Once", "k"), send(mara, "Once", "k"))
    done = await mara.settled(first)
    assert first == again == await send(mara, "Once", "k")
    others = {await send(mara, "Twice", "k"), await send(nora, "Once", "k")}
    assert len(others | {first}) == 3
    assert len(await mara.listed(COLLECTIONS.track)) >= 1
    assert (await mara.settled(first))["track_id"] == done["track_id"]


async def test_an_upload_is_watched_by_its_owner_alone(studio: Studio, song: Path) -> None:
    """As events, from wherever they were left, or as JSON; others learn not even that it is there."""
    mara, ben = await studio.artist(), await studio.artist()
    done = await mara.upload(song)
    path = f"/tracks/uploads/{done['upload_id']}/progress"

    whole = read_events((await mara.ask("GET", path)).json)
    nothing = await mara.ask("GET", path, Last_Event_ID=str(whole[-1][0]))

    assert whole[-1][1] == done
    assert (done["status"], done["progress_pct"], done["phase"]) == ("completed", 100, "completed")
    assert done["atproto_uri"].startswith(f"at://{mara.account.did}/fm.svc.track/")
    assert (nothing.status, read_events(nothing.json)) == (204, [])
    for other in (path, path.removesuffix("/progress")):
        assert (await ben.ask("GET", other)).status == 404


async def test_an_upload_needs_a_profile_a_session_and_what_was_granted(studio: Studio, song: Path) -> None:
    """Each refusal says which."""
    stranger = await studio.artist(profile=False)
    listener = await studio.artist(granting="atproto repo:fm.svc.like")
    nobody = await studio.door.ask("POST", "/tracks/")

    no_profile = await stranger.send("POST", "/tracks/", song, title="Song")
    no_scope = await listener.send("POST", "/tracks/", song, title="Song")

    assert (no_profile.status, no_profile.json["detail"]) == (403, "artist_profile_required")
    assert (no_scope.status, no_scope.json["detail"]) == (403, "scope_upgrade_required")
    assert nobody.status == 401


@pytest.mark.parametrize(
    ("fields", "status", "detail", "field"),
    [
        ({"artist": "Somebody else"}, 422, "invalid_request", "artist"),
        ({"tags": json.dumps(["x"] * 11)}, 422, "invalid_request", "tags"),
        ({"features": '["nobody.test"]'}, 422, "invalid_request", "features"),
        ({"title": "x" * 257}, 422, "invalid_request", "title"),
        ({"image": b"no picture"}, 422, "invalid_request", "image"),
        ({"image": b"\x89PNG" * 30_000}, 413, "too_large", None),
        ({"album_id": "00000000-0000-5000-8000-000000000000"}, 404, "not_found", None),
        ({"publishing": "{}"}, 422, "invalid_request", "publishing.access"),
        (
            {"publishing": json.dumps(template() | {"attach_rights": True})},
            422,
            "invalid_request",
            "publishing.attach_rights",
        ),
        (
            {"publishing": json.dumps(template() | {"attach_rights": True}), "rights": "{}"},
            422,
            "invalid_request",
            "publishing.attach_rights",
        ),
        ({"rights": '{"ISRC": "USRC17607839"}'}, 422, "invalid_request", "rights.ISRC"),
        (
            {"publishing": json.dumps(template("space"))},
            422,
            "invalid_request",
            "publishing.access.visibility",
        ),
        (
            {"publishing": json.dumps(template("supporters"))},
            422,
            "audience_unavailable",
            "publishing.access.listening",
        ),
        (
            {"publishing": json.dumps(template(downloads="supporters"))},
            422,
            "audience_unavailable",
            "publishing.access.downloads",
        ),
        (
            {"publishing": json.dumps(template("space", "off", "private"))},
            422,
            "audience_unavailable",
            "publishing.access.listening",
        ),
    ],
)
@pytest.mark.slow
async def test_what_does_not_fit_is_refused_whole(
    studio: Studio, song: Path, fields: dict[str, str], status: int, detail: str, field: str | None
) -> None:
    """Before anything is kept; the field that is at fault is named."""
    mara = await studio.artist()

    reply = await mara.send("POST", "/tracks/", song, **{"title": "Song", **fields})

    assert (reply.status, reply.json["detail"]) == (status, detail), reply.json
    if field is not None:
        assert field in {error["field"] for error in reply.json["errors"]}
    assert studio.stored("incoming") == []
    assert list((studio.data_dir / "receiving").iterdir()) == []


async def test_a_file_that_is_no_audio_or_too_long_is_refused(studio: Studio, tmp_path: Path) -> None:
    """By its content, whatever its name; a form without a file, or with two, as well."""
    mara = await studio.artist()
    noise, long = tmp_path / "song.mp3", tmp_path / "long.wav"
    noise.write_bytes(b"no sound at all" * 100)
    long.write_bytes(bytes(9_000_000))

    of_noise = await mara.send("POST", "/tracks/", noise, title="Song")
    of_length = await mara.send("POST", "/tracks/", long, title="Song")
    of_nothing = await mara.send("POST", "/tracks/", None, title="Song")

    assert (of_noise.status, of_noise.json["detail"]) == (415, "unsupported_media_type")
    assert (of_length.status, of_length.json["detail"]) == (413, "too_large")
    assert of_nothing.json["errors"][0]["field"] == "file"
    assert list((studio.data_dir / "receiving").iterdir()) == []


@pytest.mark.slow
async def test_what_only_the_file_tells_fails_after_it_was_received(
    studio: Studio, tmp_path: Path, song: Path
) -> None:
    """With the code and sentence of a refusal, as JSON and as events; nothing of it is left."""
    mara = await studio.artist()
    torn, dear = tmp_path / "torn.ogg", tmp_path / "dear.ogg"
    torn.write_bytes(b"OggS" + bytes(4000))
    dear.write_bytes(media.tiny_packets(100, spread=False))
    track = await mara.publish(song)

    async def failed(method: str, path: str, file: Path, **fields: str) -> Json:
        reply = await mara.send(method, path, file, **fields)
        assert reply.status == 202, reply.json
        return await mara.settled(reply.json["upload_id"])

    untitled = await failed("POST", "/tracks/", song)
    of_torn = await failed("POST", "/tracks/", torn, title="Song")
    of_dear = await failed("POST", "/tracks/", dear, title="Song")
    replacing = await failed("PUT", f"/tracks/{track['id']}/audio", torn)

    assert {one["error"] for one in (of_torn, of_dear, replacing)} == {"unsupported_media_type"}
    assert of_torn["message"] == "This file cannot be read as audio."
    assert untitled["error"] == "invalid_request"
    assert "title" in untitled["message"]
    events = await mara.ask("GET", f"/tracks/uploads/{of_torn['upload_id']}/progress")
    assert read_events(events.json)[-1][1] == of_torn
    async with asyncio.timeout(20):
        while studio.stored("incoming"):  # noqa: ASYNC110  # another process drops them
            await asyncio.sleep(0.05)
    assert (await mara.track(track["id"]))["file_id"] == track["file_id"]


async def test_a_recordings_codes_are_its_own(studio: Studio, song: Path) -> None:
    """The saved owner is added to them; a change of one code leaves the other and the owner as they are."""
    mara = await studio.artist()
    owner = {"masterOwner": {"name": "Tide Records"}}
    attaching = template() | {"attach_rights": True}
    await mara.ask(
        "PUT", "/preferences/", {"publishing_defaults": attaching, "scrobbling": False, "rights": owner}
    )

    track = await mara.publish(song, rights=json.dumps({"isrc": "USRC17607839"}))
    changed = await mara.ask("PATCH", f"/tracks/{track['id']}", {"isrc": "", "iswc": "T-034.524.680-1"})

    assert track["rights"] == {"isrc": "USRC17607839", **owner}
    assert changed.json["rights"] == {"iswc": "T-034.524.680-1", **owner}
    assert (await mara.record(track["uri"]))["rights"] == changed.json["rights"]


async def test_rights_are_attached_when_the_template_says_so(studio: Studio, song: Path) -> None:
    """Those of the upload; without the word they stay off the record."""
    mara = await studio.artist()
    rights = json.dumps({"isrc": "USRC17607839"})
    attaching = json.dumps(template() | {"attach_rights": True})

    attached = await mara.publish(song, rights=rights, publishing=attaching)
    plain = await mara.publish(song, rights=rights)

    assert (await mara.record(attached["uri"]))["rights"] == {"isrc": "USRC17607839"}
    assert "rights" not in await mara.record(plain["uri"])
