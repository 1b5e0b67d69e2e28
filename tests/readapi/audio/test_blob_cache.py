"""Blobs are fetched once, held to their CID, and kept as long as there is room."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web

from readapi.audio.blob_cache import AT_ONE_SERVER, OF_ONE_CLIENT, Blobs
from readapi.commands.network import open_network
from readapi.errors import PdsUnavailable
from readapi.oauth.network import Network
from schemas.ids import Cid, Did
from schemas.settings import Settings
from schemas.takedowns import Takedown, Takedowns
from tests import documents
from tests.indexer.changes import put
from tests.indexer.running import until
from tests.readapi.audio.blob_server import Server, cid_of, serving_blobs
from tests.readapi.audio.listening import listening
from tests.readapi.music import track_id

START = datetime(2026, 1, 1, tzinfo=UTC)
BEN = Did("did:plc:" + "b" * 24)
IDA = Did("did:plc:" + "i" * 24)
CONTENT = os.urandom(300_000)


@pytest.fixture
async def server() -> AsyncIterator[tuple[Server, str]]:
    """It and its address, which is that of the directory too."""
    async with serving_blobs() as (server, address):
        yield server, address


@pytest.fixture
async def second_address(server: tuple[Server, str]) -> AsyncIterator[str]:
    """Another server, of whoever is said to be there; it has the same blobs."""
    app = web.Application()
    app.router.add_get("/xrpc/com.atproto.sync.getBlob", server[0].answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    server[0].release.set()
    await runner.cleanup()


@pytest.fixture
async def guarded_network(server: tuple[Server, str]) -> AsyncIterator[Network]:
    """The guarded way there."""
    settings = Settings(plc_url=server[1], allow_loopback=True)
    async with open_network(settings) as network:
        yield network


@pytest.fixture
async def blobs(guarded_network: Network, tmp_path: Path) -> AsyncIterator[Blobs]:
    """An empty cache with room for three."""
    opened = Blobs(tmp_path / "blobs", guarded_network, 3 * len(CONTENT))
    yield opened
    await opened.close()


async def read(blobs: Blobs, cid: Cid, did: Did = BEN) -> bytes:
    """All of a blob."""
    file = await blobs.open(did, cid)
    return file.read(0, file.size)


async def test_a_blob_is_fetched_once(server: tuple[Server, str], blobs: Blobs) -> None:
    """However many want it at once, and again later."""
    cid = cid_of(CONTENT)
    server[0].blobs[cid] = CONTENT

    found = await asyncio.gather(*(read(blobs, cid) for _ in range(20)))
    again = await read(blobs, cid)

    assert {*found, again} == {CONTENT}
    assert server[0].asked == 1


async def test_another_process_finds_what_one_fetched(
    server: tuple[Server, str], blobs: Blobs, guarded_network: Network, tmp_path: Path
) -> None:
    """The folder is all that they share; two that fetch at once do no harm."""
    cid = cid_of(CONTENT)
    server[0].blobs[cid] = CONTENT
    other = Blobs(tmp_path / "blobs", guarded_network, 3 * len(CONTENT))

    both = await asyncio.gather(read(blobs, cid), read(other, cid))
    asked = server[0].asked
    third = await read(Blobs(tmp_path / "blobs", guarded_network, 3 * len(CONTENT)), cid)

    assert {*both, third} == {CONTENT}
    assert server[0].asked == asked
    assert len(list((tmp_path / "blobs").iterdir())) == 1


async def test_what_is_not_what_its_cid_says_is_given_to_nobody(
    server: tuple[Server, str], blobs: Blobs, tmp_path: Path
) -> None:
    """Not even a first part of it; nothing is kept, and its server is left alone for a while."""
    cid = cid_of(CONTENT)
    server[0].blobs[cid] = CONTENT[:-1] + b"?"

    for _ in range(3):
        with pytest.raises(PdsUnavailable):
            await blobs.open(BEN, cid)

    assert server[0].asked == 1
    assert list((tmp_path / "blobs").iterdir()) == []


@pytest.mark.parametrize("cid", ["../blobs/secret", "", "bafkreia/../../x"])
async def test_what_is_no_cid_names_no_file(blobs: Blobs, tmp_path: Path, cid: str) -> None:
    """Neither in the folder nor beside it."""
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "secret").write_bytes(CONTENT)

    with pytest.raises(PdsUnavailable):
        await blobs.open(BEN, Cid(cid))


async def test_what_a_server_does_not_have_cannot_be_had(blobs: Blobs) -> None:
    """It is said of the server, not of us."""
    with pytest.raises(PdsUnavailable):
        await blobs.open(BEN, cid_of(b"never uploaded"))


async def test_a_blob_is_that_of_one_account(server: tuple[Server, str], blobs: Blobs) -> None:
    """Whoever names another's blob in a record must have it at their own server."""
    cid = cid_of(CONTENT)
    server[0].blobs[cid] = CONTENT
    await read(blobs, cid)
    server[0].blobs.clear()

    with pytest.raises(PdsUnavailable):
        await blobs.open(Did("did:plc:" + "t" * 24), cid)


async def test_the_least_recently_read_goes_first(
    server: tuple[Server, str], blobs: Blobs, tmp_path: Path
) -> None:
    """When there is no room left; whoever reads it meanwhile reads on."""
    contents = [os.urandom(len(CONTENT)) for _ in range(4)]
    server[0].blobs = {cid_of(content): content for content in contents}
    for age, content in enumerate(contents[:3]):
        await read(blobs, cid_of(content))
        kept = next(path for path in (tmp_path / "blobs").iterdir() if path.name.startswith(cid_of(content)))
        os.utime(kept, (1000 + age, 1000 + age))
    await read(blobs, cid_of(contents[0]))
    reading = await blobs.open(BEN, cid_of(contents[1]))
    os.utime(next((tmp_path / "blobs").glob(f"{cid_of(contents[1])}*")), (1001, 1001))

    await read(blobs, cid_of(contents[3]))

    kept = sorted(path.name.partition("-")[0] for path in (tmp_path / "blobs").iterdir())
    assert kept == sorted(cid_of(contents[number]) for number in (0, 2, 3))
    assert reading.read(0, reading.size) == contents[1]


async def test_who_goes_away_does_not_stop_the_others(server: tuple[Server, str], blobs: Blobs) -> None:
    """A fetch belongs to all who wait for it."""
    cid = cid_of(CONTENT)
    server[0].blobs[cid] = CONTENT
    server[0].release.clear()
    first, second = (asyncio.create_task(read(blobs, cid)) for _ in range(2))
    await server[0].was_asked.wait()

    first.cancel()
    server[0].release.set()

    assert await second == CONTENT
    assert server[0].asked == 1


@pytest.mark.parametrize(("linger_seconds", "asked"), [(30.0, 1), (0.0, 2)])
async def test_what_nobody_waits_for_any_more_is_given_up_soon(
    server: tuple[Server, str], guarded_network: Network, tmp_path: Path, linger_seconds: float, asked: int
) -> None:
    """Whoever comes back at once finds it on its way; whoever comes later begins anew."""
    cid, blobs = cid_of(CONTENT), Blobs(tmp_path / "blobs", guarded_network, 3 * len(CONTENT), linger_seconds)
    server[0].blobs[cid] = CONTENT
    server[0].release.clear()
    waiting = [asyncio.create_task(read(blobs, cid)) for _ in range(2)]
    await server[0].was_asked.wait()

    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    await asyncio.sleep(0.1)
    again = asyncio.create_task(read(blobs, cid))
    await asyncio.sleep(0.1)
    server[0].release.set()

    assert await again == CONTENT
    assert server[0].asked == asked
    assert len(list((tmp_path / "blobs").iterdir())) == 1


@pytest.mark.slow
async def test_a_listener_who_hangs_up_ends_the_fetch(server: tuple[Server, str], tmp_path: Path) -> None:
    """A while after the last of them, who might have come back."""
    cid = cid_of(CONTENT)
    server[0].blobs[cid] = CONTENT
    server[0].release.clear()
    async with listening(tmp_path, plc_url=server[1]) as stage:
        await stage.music.add(put("mara", "track", 50, at=1000, audioBlob=documents.blob(content=CONTENT)))
        url = f"{stage.music.address}/tracks/{track_id('mara', 50)}/stream"
        asking = [asyncio.create_task(stage.music.client.get(url)) for _ in range(2)]
        await server[0].was_asked.wait()

        for client in asking:
            client.cancel()
            assert server[0].requests[0].transport is not None
            await asyncio.sleep(0.1)

        await until(lambda: server[0].requests[0].transport is None)
        assert list((tmp_path / "blobs").iterdir()) == []
        assert server[0].asked == 1


async def test_a_slow_server_keeps_only_its_own_people_waiting(
    server: tuple[Server, str], second_address: str, blobs: Blobs
) -> None:
    """And is asked for no more than a few recordings at once."""
    contents = [os.urandom(1000) for _ in range(2 * AT_ONE_SERVER)]
    server[0].blobs = {cid_of(content): content for content in [*contents, CONTENT]}
    server[0].prompt_for, server[0].others = {IDA}, {IDA: second_address}
    server[0].release.clear()
    slow = [asyncio.create_task(read(blobs, cid_of(content))) for content in contents]
    await server[0].was_asked.wait()

    assert await read(blobs, cid_of(CONTENT), IDA) == CONTENT
    assert server[0].asked <= AT_ONE_SERVER + 1

    server[0].release.set()
    assert await asyncio.gather(*slow) == contents


class Trickle:
    """Servers on many networks of loopback that each send a byte now and then; counts the connections."""

    def __init__(self, networks: range) -> None:
        self.addresses = [f"127.0.{network}.1" for network in networks]
        self.open = 0
        self.port = 0
        self._connections: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> "Trickle":
        self._servers = []
        for address in self.addresses:
            self._servers.append(await asyncio.start_server(self._send, address, self.port))
            self.port = self._servers[0].sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in [*self._servers, *self._connections]:
            server.close()
        await asyncio.gather(
            *(connection.wait_closed() for connection in self._connections), return_exceptions=True
        )

    async def _send(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self._connections.append(writer)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.1)


def people(count: int) -> list[Did]:
    """As many accounts."""
    letters = "abcdefghijklmnopqrstuvwxyz234567"
    return [Did(f"did:plc:{'z' * 22}{letters[n // 32]}{letters[n % 32]}") for n in range(count)]


@pytest.mark.parametrize(
    ("networks", "clients", "most"),
    [
        (range(20, 84), 1, OF_ONE_CLIENT),
        (range(20, 21), 64, AT_ONE_SERVER),
        (range(20, 84), 64, 64),
    ],
)
async def test_slow_servers_do_not_hold_up_what_goes_elsewhere(
    server: tuple[Server, str],
    guarded_network: Network,
    blobs: Blobs,
    networks: range,
    clients: int,
    most: int,
) -> None:
    """One client who asks for 64 recordings, 64 clients who ask one server, and 64 clients who ask 64."""
    artists, elsewhere = people(64), cid_of(CONTENT)
    server[0].blobs[elsewhere] = CONTENT
    async with Trickle(networks) as slow:
        server[0].others = {
            artist: f"http://{slow.addresses[n % len(networks)]}:{slow.port}"
            for n, artist in enumerate(artists)
        }
        asking = [
            asyncio.create_task(blobs.open(artist, elsewhere, client=f"192.0.2.{n % clients}"))
            for n, artist in enumerate(artists)
        ]
        await until(lambda: slow.open >= most)

        async with asyncio.timeout(10):
            heard = await blobs.open(BEN, elsewhere, client="198.51.100.1")
            url = f"{server[1]}/{BEN}"
            written = await guarded_network.send("GET", url, headers={}, max_bytes=1000, timeout_seconds=5)

        assert (heard.size, written.status, slow.open) == (len(CONTENT), 200, most)
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        await blobs.close()


async def test_closing_gives_up_what_is_on_its_way(
    server: tuple[Server, str], blobs: Blobs, tmp_path: Path
) -> None:
    """And leaves nothing half."""
    cid = cid_of(CONTENT)
    server[0].blobs[cid] = CONTENT
    server[0].release.clear()
    waiting = asyncio.create_task(read(blobs, cid))
    await server[0].was_asked.wait()

    await blobs.close()

    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert list((tmp_path / "blobs").iterdir()) == []


async def test_copies_of_what_is_taken_down_are_deleted(
    server: tuple[Server, str], blobs: Blobs, tmp_path: Path
) -> None:
    """A recording's by its CID, an account's all; others stay."""
    other, contents = Did("did:plc:" + "t" * 24), [os.urandom(len(CONTENT)) for _ in range(2)]
    server[0].blobs = {cid_of(content): content for content in contents}
    for did in (BEN, other):
        await read(blobs, cid_of(contents[0]), did)
    await read(blobs, cid_of(contents[1]))

    def kept() -> list[str]:
        return sorted(path.name.partition("-")[0] for path in (tmp_path / "blobs").iterdir())

    blobs.purge_taken_down(Takedowns([Takedown(cid_of(contents[1]), "Why.", START)]))
    await until(lambda: kept() == [cid_of(contents[0])] * 2)
    blobs.purge_taken_down(Takedowns([Takedown(other, "Why.", START)]))
    await until(lambda: kept() == [cid_of(contents[0])])

    assert await read(blobs, cid_of(contents[0])) == contents[0]
    assert server[0].asked == 3
