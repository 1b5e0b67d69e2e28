"""The relay of the scenarios merges, lists, and does wrong exactly what it is told to."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import libipld
import pytest
from aiohttp import WSMsgType

from indexer.repo import car
from tests.network.meddling import Drop, Repeat, Shuffle, Spoil, flipped, of
from tests.network.merging_relay import FIRST_SEQ, MergingRelay
from tests.network.testnet import Network, Testnet, running_network

pytestmark = [pytest.mark.network, pytest.mark.slow]

THING = "fm.svc.thing"


@pytest.fixture(scope="module")
def two_servers() -> Iterator[Network]:
    """A network of its own, where nobody else has said anything."""
    with running_network(pdses=2) as started:
        yield started


@asynccontextmanager
async def relay_of(network: Network) -> AsyncIterator[MergingRelay]:
    async with Testnet.connect(network) as net, MergingRelay(net) as relay:
        yield relay


async def heard(relay: MergingRelay, cursor: int = 0) -> list[tuple[str, dict[str, Any]]]:
    """All that the relay says after the cursor, up to its newest number: types and bodies."""
    said = []
    async with aiohttp.ClientSession() as session:
        address = f"{relay.url}/xrpc/com.atproto.sync.subscribeRepos?cursor={cursor}"
        async with session.ws_connect(address) as stream:
            async for message in stream:
                header, body = libipld.decode_dag_cbor_multi(message.data)
                said.append((header.get("t", "error"), body))
                if body.get("seq", 0) == relay.newest:
                    break
    return said


async def test_streams_are_merged_and_accounts_listed(two_servers: Network) -> None:
    """Numbers rise one by one; each account's events are in order; both are listed by what they hold."""
    async with relay_of(two_servers) as relay:
        ada, bob = await asyncio.gather(*(pds.create_account("merged.test") for pds in relay.net.pds))
        await asyncio.gather(ada.create_record(THING, {}), bob.create_record(THING, {}))
        await relay.has_seen_all()

        said = await heard(relay)

        numbers = [body["seq"] for _, body in said]
        assert numbers == list(range(FIRST_SEQ + 1, numbers[-1] + 1))
        mine = [kind for kind, body in said if ada.did in (body.get("did"), body.get("repo"))]
        assert mine == ["#identity", "#account", "#commit", "#sync", "#commit"]
        address = f"{relay.origin}/xrpc/com.atproto.sync.listReposByCollection"
        async with (
            aiohttp.ClientSession() as session,
            session.get(address, params={"collection": THING}) as response,
        ):
            listed = {repo["did"] for repo in (await response.json())["repos"]}
        assert {ada.did, bob.did} <= listed


async def test_events_are_lost_repeated_shuffled_and_spoiled(two_servers: Network) -> None:
    """Only those that are meant, and only in the block."""
    async with relay_of(two_servers) as relay:
        ada = await relay.net.pds[0].create_account("meddled.test")

        async def meddled(*meddlers: Any) -> list[dict[str, Any]]:
            await relay.has_seen_all()
            before = relay.newest
            async with relay.meddling(*meddlers):
                for number in range(3):
                    await ada.create_record(THING, {"number": number})
                await relay.has_seen_all()
            return [body for _, body in await heard(relay, before) if body.get("repo") == ada.did]

        mine = of(ada.did, kinds=("#commit",))
        assert await meddled(Drop(mine)) == []
        assert len(await meddled(Repeat(mine, 3))) == 9
        shuffled = [body["rev"] for body in await meddled(Shuffle(mine, 3, random.Random(1)))]
        assert len(shuffled) == 3
        assert shuffled != sorted(shuffled)
        for body in await meddled(Spoil(mine, flipped)):
            with pytest.raises(car.CarError, match="does not match"):
                car.read_car(body["blocks"])


async def test_old_and_future_cursors_are_told_so(two_servers: Network) -> None:
    """A note before the rest for one, an error in place of it for the other."""
    async with relay_of(two_servers) as relay:
        await relay.has_seen_all()
        relay.forget()
        said = await heard(relay, FIRST_SEQ + 1)
        old = relay.newest
        await relay.renumber()
        await relay.has_seen_all()

        note, *events = [body.get("name") for _, body in said]
        assert note == "OutdatedCursor"
        assert set(events) == {None}
        assert [body["error"] for _, body in await heard(relay, old)] == ["FutureCursor"]


async def test_a_stalled_relay_says_nothing_until_it_goes_on(two_servers: Network) -> None:
    """And a cut one ends in the middle of a message."""
    async with relay_of(two_servers) as relay, aiohttp.ClientSession() as session:
        address = f"{relay.url}/xrpc/com.atproto.sync.subscribeRepos"
        async with session.ws_connect(address) as stream:
            await _quiet(stream)
            await relay.stall()
            await relay.has_seen_all()
            with pytest.raises(TimeoutError):
                await stream.receive(0.1)
            await relay.stall(False)
            assert (await stream.receive(1)).type is WSMsgType.BINARY
            relay.cut()
            while (message := await stream.receive(1)).type is WSMsgType.BINARY:
                pass
            assert message.type in (WSMsgType.CLOSED, WSMsgType.ERROR)


async def _quiet(stream: aiohttp.ClientWebSocketResponse) -> None:
    """Read what earlier tests left to be said."""
    with contextlib.suppress(TimeoutError):
        while True:
            await stream.receive(0.5)


async def test_an_old_server_is_not_believed_after_a_move(two_servers: Network) -> None:
    """Its last word, that the account is deactivated there, is not passed on."""
    async with relay_of(two_servers) as relay:
        ada = await relay.net.pds[0].create_account("moved.test")
        await ada.migrate(relay.net.pds[1])
        await relay.has_seen_all()

        statuses = [
            body.get("status")
            for kind, body in await heard(relay)
            if kind == "#account" and body["did"] == ada.did
        ]

        assert statuses == [None, None]
