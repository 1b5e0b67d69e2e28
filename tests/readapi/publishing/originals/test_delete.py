"""A track that its artist deletes leaves nothing: no record, original, rendition, version, cached file."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.network.pds import Json
from tests.patience import PATIENCE_SECONDS
from tests.readapi.audio.sounds import own_sound
from tests.readapi.studio import Artist, Studio, template

pytestmark = [pytest.mark.network, pytest.mark.asyncio(loop_scope="session")]

PROTECTED = json.dumps(template("public", "off"))


async def hear(artist: Artist, track: Json) -> None:
    """Listen to it, so that what is at the artist's own server is in the cache."""
    headers = {"Authorization": f"Bearer {artist.session}"}
    async with artist.door.client.get(track["stream_url"], headers=headers) as answer:
        assert answer.status == 200
        await answer.read()


def kept(studio: Studio, track: Json) -> list[str]:
    """Files of a track, in the store and in the cache."""
    folders = [studio.data_dir / "audio" / name for name in ("originals", "renditions")]
    found = [path.name for folder in folders for path in folder.glob(f"{track['file_id']}*")]
    blob = track["pds_blob_cid"] or "none"
    return found + [path.name for path in (studio.data_dir / "blobs").glob(f"{blob}*")]


@pytest.mark.parametrize(("method", "path"), [("DELETE", "/tracks/{}"), ("POST", "/portal/tracks/{}/delete")])
@pytest.mark.parametrize("publishing", [PROTECTED, json.dumps(template())], ids=["protected", "open"])
@pytest.mark.slow
async def test_nothing_is_left_of_a_deleted_track(
    studio: Studio, tmp_path: Path, method: str, path: str, publishing: str
) -> None:
    """Wherever it is deleted, and wherever its audio lay."""
    mara = await studio.artist()
    track = await mara.publish(own_sound(tmp_path), publishing=publishing)
    replaced = await mara.send("PUT", f"/tracks/{track['id']}/audio", own_sound(tmp_path))
    await mara.settled(replaced.json["upload_id"])
    now = await mara.track(track["id"])
    await hear(mara, now)
    before = (kept(studio, track), kept(studio, now))

    deleted = await mara.ask(method, path.format(track["id"]))
    told = await mara.settled(replaced.json["upload_id"])

    assert deleted.status in (200, 303)
    assert (told["message"], told["track_id"], told["atproto_uri"]) == (
        "The track was deleted since.",
        None,
        None,
    )
    assert [bool(files) for files in before] == [True, True]
    assert (kept(studio, track), kept(studio, now)) == ([], [])
    assert not await mara.has_record(track["uri"])


async def test_a_deletion_is_done_whole_though_its_client_hangs_up(studio: Studio, tmp_path: Path) -> None:
    """At the moment at which the record is gone and the original is still there."""
    mara = await studio.artist()
    track = await mara.publish(own_sound(tmp_path), publishing=PROTECTED)
    host, port = studio.door.address.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    login = f"Authorization: Bearer {mara.session}"
    writer.write(f"DELETE /tracks/{track['id']} HTTP/1.1\r\nHost: {host}\r\n{login}\r\n\r\n".encode())
    while await mara.has_record(track["uri"]):  # noqa: ASYNC110  # nothing tells us
        await asyncio.sleep(0.002)

    writer.transport.abort()

    async with asyncio.timeout(PATIENCE_SECONDS):
        while kept(studio, track):  # noqa: ASYNC110  # nothing tells us
            await asyncio.sleep(0.05)
