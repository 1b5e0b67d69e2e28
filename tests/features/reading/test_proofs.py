"""Anybody can check what we say of a track: a real indexer fetches the proof, a real worker passes it on."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import repeat
from pathlib import Path
from urllib.parse import quote

import aiohttp
import pytest

from indexer.repo import proof, signing_keys
from schemas.api.tracks import TrackProof
from schemas.ids import AtUri
from schemas.settings import Settings
from tests import documents
from tests.indexer.running import Running, running, until
from tests.network.forge import ForgedRepo, Written
from tests.network.forged_network import Corrupt, ForgedNetwork
from tests.network.relay import Refuse, Relay
from tests.patience import PATIENCE_SECONDS
from tests.readapi.serving import serving as worker_of

TRACK = "fm.svc.track"
CAR = "application/vnd.ipld.car"
PRIVATE = {"access": {"listening": "space", "downloads": "off", "visibility": "private"}}


@dataclass
class World:
    """One artist on the network, indexed and served."""

    repo: ForgedRepo
    track: Written
    private: Written
    network: ForgedNetwork
    indexer: Running
    address: str
    client: aiohttp.ClientSession

    def ask(self, track: Written, **headers: str) -> aiohttp.client._RequestContextManager:
        return self.client.get(f"{self.address}/tracks/{quote(track.uri, safe='')}/proof", headers=headers)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    repo = ForgedRepo(seed="ana")
    track = repo.create(TRACK, documents.least("track"))
    private = repo.create(TRACK, documents.least("track") | PRIVATE)
    async with ForgedNetwork([repo]) as network, Relay([repo.commit_frame(1)]) as relay:
        settings = Settings(
            data_dir=tmp_path,
            relay=relay.url,
            plc_url=network.url,
            handle_resolver=network.url,
            allow_loopback=True,
            batch_seconds=0.02,
        )
        async with running(settings) as indexer, serving(settings) as (address, client):
            await indexer.reach(1)
            served = World(repo, track, private, network, indexer, address, client)
            await until_found(served)
            yield served


@asynccontextmanager
async def serving(settings: Settings) -> AsyncIterator[tuple[str, aiohttp.ClientSession]]:
    """A worker beside the indexer."""
    sock = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{sock.getsockname()[1]}"
    async with worker_of(settings, sock) as stores, aiohttp.ClientSession() as client:
        await until(lambda: stores.index.is_open)
        yield address, client


async def until_found(world: World) -> None:
    """Wait for the worker to see the track."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            async with world.ask(world.track) as response:
                if response.status == 200:
                    return
            await asyncio.sleep(0.02)


async def test_how_a_track_was_verified_is_told(world: World) -> None:
    """The record, its rev, what proved it and since when. Caches learn that there is another form of it."""
    async with world.ask(world.track) as response:
        told = TrackProof.model_validate(await response.json(), strict=True)

    assert (told.uri, told.cid, told.did) == (world.track.uri, world.track.cid, world.repo.did)
    assert (told.rev, told.verified) == (world.repo.rev, "commit")
    assert told.verified_at[:10] == datetime.now(UTC).isoformat()[:10]
    assert response.headers["Vary"] == (
        "Accept-Encoding, atproto-accept-labelers, Authorization, Cookie, Accept"
    )
    assert response.headers["Access-Control-Allow-Origin"] == "*"


async def test_the_told_address_gives_the_proof_too(world: World) -> None:
    """Straight from the artist's own server, without us."""
    async with world.ask(world.track) as response:
        address = (await response.json())["proof_url"]
    async with world.client.get(address) as response:
        assert holds(await response.read(), world)


async def test_the_proof_itself_is_sent_as_a_car(world: World) -> None:
    """Whoever has the artist's key can check it. The JSON that was asked for before is not in the way."""
    async with world.ask(world.track, Accept=CAR) as response:
        assert (response.status, response.content_type) == (200, CAR)
        assert holds(await response.read(), world)
    async with world.ask(world.track, Accept=f"{CAR};q=0.5, application/json") as response:
        assert response.content_type == "application/json"


@pytest.mark.parametrize("fault", [Refuse(500), Refuse(429, "60"), Corrupt()])
async def test_a_server_that_fails_or_lies_is_not_passed_on(world: World, fault: object) -> None:
    """503 with a sentence; what we know ourselves is told as before."""
    world.network.faults["com.atproto.sync.getRecord"] = world.network.faults["getRecord"] = repeat(fault)

    async with world.ask(world.track, Accept=CAR) as response:
        assert (response.status, (await response.json())["detail"]) == (503, "pds_unavailable")
        assert int(response.headers["Retry-After"]) > 0
    async with world.ask(world.track) as response:
        assert response.status == 200


async def test_what_is_private_is_neither_told_nor_proven(world: World) -> None:
    """As everything else of it, it does not exist for strangers."""
    for headers in ({}, {"Accept": CAR}):
        async with world.ask(world.private, **headers) as response:
            assert (response.status, (await response.json())["detail"]) == (404, "not_found")
    assert world.network.asked["getRecord"] == 0


async def test_a_record_that_is_gone_is_not_found(world: World) -> None:
    """The server proves that it has none, though the stream has not told us yet."""
    world.repo.delete(TRACK, world.track.rkey)
    world.repo.commit_frame(2)

    async with world.ask(world.track, Accept=CAR) as response:
        assert (response.status, (await response.json())["detail"]) == (404, "not_found")


def holds(car: bytes, world: World) -> bool:
    """Checked as anybody would."""
    key = signing_keys.parse_key(world.repo.key.multibase)
    found = proof.verify_proof(car, AtUri.parse(world.track.uri), datetime.now(UTC), key)
    return (found.cid, found.rev) == (world.track.cid, world.repo.rev)
