"""The client against the whole service and a real PDS."""

import asyncio
from pathlib import Path

import pytest

from fmsvc import AsyncClient, Client, NotFoundError, PublishingDefaults, TrackPatch
from tests.readapi.studio import Studio

pytestmark = [pytest.mark.network, pytest.mark.asyncio(loop_scope="session")]


async def test_an_artist_publishes_changes_proves_downloads_and_deletes(
    studio: Studio, song: Path, tmp_path: Path
) -> None:
    artist = await studio.artist()
    async with AsyncClient(api_url=studio.door.address, token=artist.session) as client:
        assert (await client.me())["did"] == artist.did
        done = await client.tracks.upload(song, "Harbour", tags={"sea"}, publishing=PublishingDefaults())
        uri = (await artist.track(done.track_id))["atproto_record_uri"]

        track = await client.tracks.get(uri)
        assert (track.id, track.title, track.tags) == (done.track_id, "Harbour", ["sea"])
        assert [one.id for one in await client.tracks.my()] == [track.id]

        proved = await client.tracks.verify(track.id, plc_url=studio.net.plc_url)
        assert (proved.uri, proved.record["title"]) == (uri, "Harbour")

        path = await client.tracks.download(track.id, tmp_path / "got.mp3")
        assert path.read_bytes() == song.read_bytes()

        with Client(api_url=studio.door.address, token=artist.session) as plain:
            comment = await asyncio.to_thread(plain.comments.add, track.id, "Here", timestamp_ms=5)
            assert comment.timestamp_ms == 5
            changed = await asyncio.to_thread(plain.tracks.update, track.id, TrackPatch(description="New"))
            assert changed.description == "New"

        job = await client.publishing.set(track.id, PublishingDefaults(), idempotency_key="one")
        assert (await client.jobs.wait(job.job_id)).status == "completed"

        await client.tracks.delete(track.id)
        await artist.shows(f"/tracks/{track.id}", lambda reply: reply.status == 404)
        with pytest.raises(NotFoundError):
            await client.tracks.get(track.id)
