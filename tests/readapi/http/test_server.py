"""Slow clients hold little: few connections each, none for long."""

import asyncio
import contextlib
import itertools
import resource
import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest
import uvloop
from aiohttp import web

from readapi.answers import Answer
from readapi.http.endpoint import Routes
from readapi.http.limits import connections as connection_limits
from readapi.http.limits.connections import ConnectionLimits
from readapi.http.server import ACCEPTED_AT_ONCE, ConnectionTimeouts
from readapi.metrics import Metrics
from schemas.settings import Settings
from tests.patience import PATIENCE_SECONDS
from tests.readapi.site import Site, running

HALF = b"GET /hello HTTP/1.1\r\nHost: x\r\nX-Slow: "
WHOLE = b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
QUICK = ConnectionTimeouts(head=1.0, idle=3.0, stalled=0.5)  # a busy machine stalls for tenths of seconds

routes = Routes("test")


@routes.get("/hello")
async def hello() -> Answer[str]:
    """Greet."""
    return Answer(b'"hello"')


@routes.get("/flood", media_types=("text/plain",))
async def flood() -> web.StreamResponse:
    """Send more than fits on the way."""
    return web.Response(body=b"x" * (64 << 20))


@routes.get("/slow")
async def slow() -> Answer[str]:
    """Think for longer than a head may take."""
    await asyncio.sleep(2 * QUICK.head)
    return Answer(b'"slow"')


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with running(routes, patience=QUICK, of_one_client=10) as site:
        yield site


Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def connect(site: Site, said: bytes = b"") -> Connection:
    host, port = site.address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(said)
    return reader, writer


async def is_open(connection: Connection, seconds: float) -> bool:
    """Does the server leave it open, without a word, for so long?"""
    try:
        async with asyncio.timeout(seconds):
            await connection[0].read()
    except TimeoutError:
        return True
    except ConnectionError:
        pass
    return False


def close(connections: list[Connection]) -> None:
    for _, writer in connections:
        writer.transport.abort()


async def test_one_address_holds_few_connections() -> None:
    """The others are closed at once; when those that were taken are closed, others are let in."""
    async with running(routes, of_one_client=10) as site:
        halves = [await connect(site, HALF) for _ in range(60)]
        reads = [asyncio.create_task(is_open(half, PATIENCE_SECONDS)) for half in halves]
        for read in itertools.islice(asyncio.as_completed(reads, timeout=PATIENCE_SECONDS), 50):
            assert not await read
        assert not await answers(site)
        assert sum(read.done() for read in reads) == 50
        close(halves)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                if await answers(site):
                    break
                await asyncio.sleep(0.01)
        await asyncio.gather(*reads)


async def answers(site: Site) -> bool:
    """Is a request on a connection of its own answered?"""
    reader, writer = await connect(site, WHOLE)
    try:
        return b'"hello"' in await reader.readuntil(b'"hello"')
    except (asyncio.IncompleteReadError, ConnectionError):
        return False
    finally:
        writer.transport.abort()


@pytest.mark.parametrize("said", [b"", HALF, WHOLE + HALF])
@pytest.mark.slow
async def test_a_head_that_does_not_come_ends_the_connection(site: Site, said: bytes) -> None:
    """Nothing at all, one that was begun, one that was begun after a whole one."""
    connection = await connect(site, said)
    if said.startswith(WHOLE):
        await connection[0].readuntil(b'"hello"')

    assert await is_open(connection, QUICK.head / 2)
    assert not await is_open(connection, PATIENCE_SECONDS)
    close([connection])


async def test_a_head_that_trickles_ends_the_connection(site: Site) -> None:
    """Each further byte gains no time."""
    reader, writer = await connect(site, HALF)
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not reader.at_eof():
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.02)

    close([(reader, writer)])


async def test_an_answer_may_take_its_time(site: Site) -> None:
    """The limit is of the head."""
    assert await (await site.client.get(f"{site.address}/slow")).json() == "slow"


@pytest.mark.slow
async def test_an_unused_connection_is_closed(site: Site) -> None:
    connection = await connect(site, WHOLE)
    await connection[0].readuntil(b'"hello"')

    assert await is_open(connection, QUICK.head + 0.2)
    assert not await is_open(connection, PATIENCE_SECONDS)
    close([connection])


async def test_a_client_that_takes_nothing_of_its_answer_is_let_go(site: Site) -> None:
    """Whoever takes it, however much there is, gets all of it."""
    reader, writer = await connect(site, WHOLE.replace(b"hello", b"flood"))
    writer.transport.pause_reading()  # type: ignore[attr-defined]  # of every transport that reads
    taken = await site.client.get(f"{site.address}/flood")
    whole = await taken.read()
    await asyncio.sleep(3 * QUICK.stalled)

    writer.transport.resume_reading()  # type: ignore[attr-defined]
    cut = b""
    with contextlib.suppress(ConnectionError):
        cut = await reader.read()

    assert len(whole) == 64 << 20
    assert len(cut) < 64 << 20
    close([(reader, writer)])


def test_a_household_counts_as_one_and_a_proxy_as_many() -> None:
    places = ConnectionLimits(Settings(trusted_proxies=("10.0.0.0/8",)), most=8, of_one_client=2)

    home = [places.take(f"2001:db8::{number}") for number in range(3)]
    proxied = [places.take("10.1.2.3") for _ in range(5)]

    assert [seat is not None for seat in home] == [True, True, False]
    assert None not in proxied
    assert places.take("192.0.2.1") is not None
    assert places.take("192.0.2.2") is None
    places.leave(proxied[0] or ())
    assert places.take("192.0.2.2") is not None


def test_one_network_leaves_seats_for_others() -> None:
    """Whoever is given a /48 has 65,536 households; whoever has a /24, 256 addresses."""
    places = ConnectionLimits(Settings(), most=40, of_one_client=2)

    tunnel = [places.take(f"2001:db8:7:{number:x}::1") for number in range(40)]
    neighbours = [places.take(f"192.0.2.{number}") for number in range(40)]

    assert sum(seat is not None for seat in tunnel) == 10
    assert sum(seat is not None for seat in neighbours) == 10
    assert places.take("198.51.100.1") is not None
    for seat in tunnel:
        if seat is not None:
            places.leave(seat)
    assert places.take("2001:db8:7::1") is not None


def test_refused_connections_are_a_counter_and_open_ones_a_gauge() -> None:
    """So that `rate` and `increase` tell how many were refused, whichever process restarted."""
    places, metrics = ConnectionLimits(Settings(), most=1), Metrics()
    places.watch(metrics)

    places.take("192.0.2.1")
    places.take("192.0.2.2")

    text = metrics.text().decode()
    assert "# TYPE fmsvc_connections_refused_total counter\nfmsvc_connections_refused_total 1.0\n" in text
    assert "# TYPE fmsvc_connections gauge\nfmsvc_connections 1.0\n" in text


def test_as_many_files_may_be_open_as_the_system_allows() -> None:
    """And fewer connections than files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 1024), hard))
    try:
        most = connection_limits.raise_file_limit()

        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
        assert 16 <= most <= hard
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_uploads_are_no_idle_connections(site: Site) -> None:
    """A body that keeps coming after a whole head is no head."""

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield b"x"
            await asyncio.sleep(QUICK.head / 3)

    with contextlib.suppress(aiohttp.ClientError):
        answer = await site.client.post(f"{site.address}/hello", data=pieces())
        assert answer.status == 405


def test_many_clients_that_connect_at_once_wait_for_few_turns_of_the_loop() -> None:
    """A turn is as long as all requests that arrived take, so that clients notice how many they wait for."""
    many = 4 * ACCEPTED_AT_ONCE

    async def turns() -> int:
        async with running(routes) as site:
            host, port = site.address.removeprefix("http://").split(":")
            with contextlib.ExitStack() as stack:
                clients = [
                    stack.enter_context(socket.create_connection((host, int(port)))) for _ in range(many)
                ]
                for client in clients:
                    client.sendall(WHOLE)
                    client.setblocking(False)
                for turn in range(10 * many):
                    await asyncio.sleep(0)
                    with contextlib.suppress(BlockingIOError):
                        for client in clients:
                            client.recv(1, socket.MSG_PEEK)
                        return turn
        raise AssertionError("not answered")

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(turns()) < many / 2
