"""The whole service with nothing on its own disk: originals on S3, state on PostgreSQL."""

import hashlib
import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import aiohttp
import pytest
import pytest_asyncio

from readapi.audio.store import AudioStore
from readapi.publishing.originals.references import Originals
from readapi.publishing.originals.sweep import OrphanSweep
from readapi.state.publishing import file_keys
from readapi.state.publishing.file_keys import original_key, received_audio, rendition_key
from readapi.state.state import State, open_state
from schemas.settings import Settings
from tests.network.testnet import Network, Testnet
from tests.postgres import new_database
from tests.readapi.audio.bucket import bucket_url
from tests.readapi.studio import Artist, Studio, open_studio, template

pytestmark = [pytest.mark.network, pytest.mark.asyncio(loop_scope="module")]

HEARD = json.dumps(template("public", "off"))


class Remote(NamedTuple):
    """The service, and its stores as we see them ourselves."""

    studio: Studio
    store: AudioStore
    state: State

    async def stored(self) -> set[str]:
        """What is in the bucket, but for what lies in the trash."""
        folders = (file_keys.INCOMING, file_keys.ORIGINALS, file_keys.RENDITIONS)
        files = {file.key for folder in folders async for file in self.store.keys(folder)}
        return files - {one.key for one in await self.state.stored_files.in_trash(1000)}

    async def put(self, folder: Path, key: str) -> None:
        """A file that is nobody's."""
        path = folder / "arriving"
        path.write_bytes(b"sound")
        await self.store.put(key, path)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def remote(
    network: Network, postgres: str, s3: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Remote]:
    folder = tmp_path_factory.mktemp("remote")
    audio_url, state_url = bucket_url(s3, "originals"), await new_database(postgres, uuid.uuid4().hex)
    settings = Settings(data_dir=folder, audio_url=audio_url, state_url=state_url)
    async with (
        Testnet.connect(network) as net,
        open_studio(net, folder, FMSVC_AUDIO_URL=audio_url, FMSVC_STATE_URL=state_url) as studio,
        open_state(settings) as state,
    ):
        yield Remote(studio, AudioStore.of(settings), state)


async def fetch(artist: Artist | None, url: str, client: aiohttp.ClientSession, **headers: str) -> bytes:
    """What somebody is sent; None: a stranger."""
    login = {"Authorization": f"Bearer {artist.session}"} if artist else {}
    async with client.get(url, headers=login | headers) as answer:
        assert answer.status == (206 if headers else 200)
        return await answer.read()


@pytest.mark.slow
async def test_audio_goes_its_whole_way_on_s3(
    remote: Remote, song: Path, other_song: Path, tmp_path: Path
) -> None:
    """Uploaded, rendered, heard in parts, downloaded, replaced, restored, swept around, deleted."""
    mara, client = await remote.studio.artist(), remote.studio.door.client
    first, second = (hashlib.sha256(file.read_bytes()).hexdigest() for file in (song, other_song))

    track = await mara.publish(song, publishing=HEARD)
    rendition = await fetch(None, track["stream_url"], client)
    part = await fetch(None, track["stream_url"], client, Range="bytes=100-199")
    address = f"{remote.studio.door.address}/tracks/{track['id']}"
    assert part == rendition[100:200]
    assert await fetch(mara, f"{address}/download", client) == song.read_bytes()
    assert await remote.stored() == {original_key(first), rendition_key(first, "m4a")}

    replaced = await mara.send("PUT", f"/tracks/{track['id']}/audio", other_song)
    await mara.settled(replaced.json["upload_id"])
    assert await fetch(mara, f"{address}/download", client) == other_song.read_bytes()
    assert await remote.stored() == {original_key(first), original_key(second), rendition_key(second, "m4a")}

    versions = (await mara.ask("GET", f"/tracks/{track['id']}/revisions")).json["revisions"]
    restored = await mara.ask("POST", f"/tracks/{track['id']}/revisions/{versions[0]['id']}/restore")
    assert restored.status == 200
    assert await fetch(mara, f"{address}/download", client) == song.read_bytes()
    needed = await remote.stored()

    strangers = {original_key("c" * 64), rendition_key("c" * 64, "m4a"), received_audio("nobodys")}
    for key in strangers:
        await remote.put(tmp_path, key)
    originals = Originals(remote.state, remote.store)
    await OrphanSweep(remote.state, remote.store, originals, tmp_path / "receiving").sweep()
    assert await remote.stored() == needed | strangers

    assert (await mara.ask("DELETE", f"/tracks/{track['id']}")).status == 200
    assert await remote.stored() == strangers
    for key in strangers:
        await remote.store.delete(key)
    assert not (remote.studio.data_dir / "audio").exists()


@pytest.mark.slow
async def test_a_job_moves_audio_between_s3_and_the_artists_server(remote: Remote, song: Path) -> None:
    """In when it is restricted, out when it is opened; what is not needed any more goes."""
    mara = await remote.studio.artist()
    track = await mara.publish(song)
    path = f"/tracks/{track['id']}/publishing"

    shut = await mara.job(await mara.ask("POST", path, {"settings": template("owner", "off")}))
    inside = await remote.stored()
    opened = await mara.job(await mara.ask("POST", path, {"settings": template()}))

    assert (shut["status"], opened["status"]) == ("completed", "completed")
    assert inside == {original_key(hashlib.sha256(song.read_bytes()).hexdigest())}
    assert await remote.stored() == set()
    assert await mara.has_blob((await mara.record(track["uri"]))["audioBlob"]["ref"]["$link"])
