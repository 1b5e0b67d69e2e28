"""Strangers' addresses lead to the public internet or nowhere; answers are capped in size and time."""

import asyncio
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator
from email.utils import formatdate
from typing import Any

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from indexer.network.http.client import (
    Answered,
    Forbidden,
    NoSuchHost,
    NotNow,
    Outbound,
    Reply,
    TooLarge,
    Unreachable,
)
from indexer.network.http.slots import SlotLimits
from indexer.network.identity.dns import Dns
from tests.network.doubles import Names


async def pause(request: web.Request) -> web.Response:
    """Refuse with these headers, and 429 unless `status` is among them."""
    headers = dict(request.query)
    return web.Response(status=int(headers.pop("status", "429")), headers=headers)


async def trickle(request: web.Request) -> web.StreamResponse:
    """A little at a time, in pieces of `bytes`."""
    response = web.StreamResponse()
    await response.prepare(request)
    for _ in range(10):
        await response.write(b"x" * int(request.query["bytes"]))
        await asyncio.sleep(0.1)
    return response


async def small(_: web.Request) -> web.Response:
    return web.Response(body=b"small")


async def refused(_: web.Request) -> web.Response:
    return web.Response(status=400, body=b"because" * 1000)


async def broken(_: web.Request) -> web.Response:
    return web.Response(status=503)


async def slow(_: web.Request) -> web.Response:
    await asyncio.sleep(30)
    return web.Response()


async def endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    for _ in range(100):
        await response.write(b"x" * 10_000)
    return response


async def said(request: web.Request) -> web.Response:
    return web.json_response(dict(request.headers))


async def echo(request: web.Request) -> web.Response:
    said = {"method": request.method, "body": await request.text(), "proof": request.headers["DPoP"]}
    return web.json_response(said, status=401, headers={"DPoP-Nonce": "next"})


async def redirect(request: web.Request) -> web.Response:
    return web.Response(status=302, headers={"location": request.query["to"]})


async def hangs_up(request: web.Request) -> web.Response:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


@pytest.fixture
async def server() -> AsyncIterator[TestServer]:
    app = web.Application()
    app.router.add_post("/echo", echo)
    for handler in (small, refused, broken, slow, endless, said, redirect, hangs_up, pause, trickle):
        app.router.add_get(f"/{handler.__name__}", handler)
    server = TestServer(app, host="127.0.0.1")
    await server.start_server()
    yield server
    await server.close()


@pytest.fixture
async def loopback() -> AsyncIterator[Outbound]:
    async with Outbound(Dns(), allow_loopback=True) as opened:
        yield opened


@pytest.fixture
async def strict() -> AsyncIterator[Outbound]:
    async with Outbound(Dns()) as opened:
        yield opened


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "//example.com/",
        "example.com",
        "",
        "https://",
        "https://user@example.com/",
        "https://user:password@example.com/",
        "https://@127.0.0.1/",
        "https://example.com:22/",
        "https://example.com:80/",
        "https://example.com:99999/",
        "https://10.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:7f00:1]/",
        "https://2130706433/",
        "https://017700000001/",
        "https://0x7f.1/",
        "https://127.1/",
        "https://127.0.0.1./",
        "https://localhost/",
        "https://localhost./",
        "https://metadata/",
        "http://localhost/",
        "http://127.0.0.1:2583/",
    ],
)
async def test_hostile_urls_are_refused_unvisited(strict: Outbound, url: str) -> None:
    """Schemes, users, ports, inner names, and addresses in every spelling."""
    with pytest.raises(Forbidden):
        await strict.fetch(url, 10, 1)


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1"])
async def test_a_public_name_that_resolves_to_an_inner_address_gets_no_socket(address: str) -> None:
    """The address that is connected to is the one that is checked, so DNS cannot change its mind between."""
    async with Outbound(Names({"rebind.example.com": (address, 443)})) as opened:
        with pytest.raises(Forbidden, match="not a public address"):
            await opened.fetch("https://rebind.example.com/", 10, 1)


async def test_a_small_answer_arrives(server: TestServer, loopback: Outbound) -> None:
    assert await loopback.fetch(str(server.make_url("/small")), 5, 5) == b"small"


async def test_an_answer_over_the_cap_is_dropped_while_it_streams(
    server: TestServer, loopback: Outbound
) -> None:
    with pytest.raises(TooLarge):
        await loopback.fetch(str(server.make_url("/endless")), 50_000, 5)


async def test_the_beginning_of_a_large_answer_can_be_asked_for(
    server: TestServer, loopback: Outbound
) -> None:
    assert await loopback.fetch(str(server.make_url("/endless")), 50, 5, whole=False) == b"x" * 50


async def test_a_slow_server_is_unreachable(server: TestServer, loopback: Outbound) -> None:
    with pytest.raises(Unreachable, match=r"within 0\.1 s"):
        await loopback.fetch(str(server.make_url("/slow")), 10, 0.1)


async def test_a_refusal_carries_its_status_and_the_start_of_its_reason(
    server: TestServer, loopback: Outbound
) -> None:
    with pytest.raises(Answered) as answer:
        await loopback.fetch(str(server.make_url("/refused")), 10, 5)

    assert (answer.value.status, answer.value.transient, len(answer.value.body)) == (400, False, 512)


async def test_a_broken_server_is_worth_another_try(server: TestServer, loopback: Outbound) -> None:
    with pytest.raises(Answered) as answer:
        await loopback.fetch(str(server.make_url("/broken")), 10, 5)
    with pytest.raises(Unreachable):
        await loopback.fetch(str(server.make_url("/hangs_up")), 10, 5)

    assert answer.value.transient


async def test_redirects_are_not_followed_unless_asked(server: TestServer, loopback: Outbound) -> None:
    url = str(server.make_url("/redirect").with_query(to="/small"))

    with pytest.raises(Forbidden):
        await loopback.fetch(url, 10, 5)

    assert await loopback.fetch(url, 10, 5, redirects=1) == b"small"


@pytest.mark.parametrize(
    "to", ["https://10.0.0.1/", "http://169.254.169.254/latest", "file:///etc/passwd", "http://["]
)
async def test_a_redirect_is_checked_like_the_first_address(
    server: TestServer, loopback: Outbound, to: str
) -> None:
    url = str(server.make_url("/redirect").with_query(to=to))

    with pytest.raises(Forbidden):
        await loopback.fetch(url, 10, 5, redirects=3)


async def test_a_circle_of_redirects_ends(server: TestServer, loopback: Outbound) -> None:
    circle = server.make_url("/redirect")

    with pytest.raises(Forbidden, match="too many"):
        await loopback.fetch(str(circle.with_query(to="/redirect?to=/redirect")), 10, 5, redirects=1)


async def test_no_credentials_and_no_compression_are_offered(server: TestServer, loopback: Outbound) -> None:
    headers = await loopback.fetch(str(server.make_url("/said")), 10_000, 5)

    assert b"uthorization" not in headers
    assert b"ookie" not in headers
    assert b'"Accept-Encoding": "identity"' in headers


async def test_a_host_that_does_not_exist_is_told_from_one_that_is_down(loopback: Outbound) -> None:
    async with Outbound(Names({})) as nowhere:
        with pytest.raises(NoSuchHost):
            await nowhere.fetch("https://does-not-exist.example.com/", 10, 5)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(Unreachable):
        await loopback.fetch(f"http://127.0.0.1:{port}/", 10, 5)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "0", "RateLimit-Reset": "9"}, 0),
        ({"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}, 0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-7"}, None),
        ({"RateLimit-Reset": "9"}, 9),
        ({"RateLimit-Reset": "1000000001"}, 0),
        ({"RateLimit-Reset": "x"}, None),
        ({"status": "503", "Retry-After": "7"}, 7),
        ({"status": "400", "RateLimit-Reset": "9"}, None),
    ],
)
async def test_a_refusal_says_when_to_come_back(
    server: TestServer, loopback: Outbound, headers: dict[str, str], seconds: float | None
) -> None:
    with pytest.raises(Answered) as answer:
        await loopback.fetch(str(server.make_url("/pause").with_query(headers)), 10, 5)

    assert answer.value.retry_after == seconds


async def test_an_instant_to_come_back_is_told_in_seconds_from_now(
    server: TestServer, loopback: Outbound
) -> None:
    for headers in (
        {"Retry-After": formatdate(time.time() + 60, usegmt=True)},
        {"RateLimit-Reset": str(int(time.time()) + 60)},
    ):
        with pytest.raises(Answered) as answer:
            await loopback.fetch(str(server.make_url("/pause").with_query(headers)), 10, 5)

        assert 50 < (answer.value.retry_after or 0) <= 60


async def test_a_long_answer_is_handed_on_in_pieces(server: TestServer, loopback: Outbound) -> None:
    pieces: list[bytes] = []

    await loopback.stream(str(server.make_url("/endless")), pieces.append, 1_000_000, 5, 5)

    assert sum(map(len, pieces)) == 1_000_000
    assert len(pieces) > 1


async def test_a_long_answer_has_an_end(server: TestServer, loopback: Outbound) -> None:
    pieces: list[bytes] = []

    with pytest.raises(TooLarge):
        await loopback.stream(str(server.make_url("/endless")), pieces.append, 500_000, 5, 5)

    assert sum(map(len, pieces)) <= 500_000


async def test_only_a_sender_that_is_not_slow_may_take_its_time(
    server: TestServer, loopback: Outbound
) -> None:
    """What trickles in would occupy us for as long as somebody likes."""
    url, pieces = server.make_url("/trickle"), list[bytes]()

    await loopback.stream(str(url.with_query(bytes=64 << 10)), pieces.append, 1 << 20, 0.3, 9)
    with pytest.raises(Unreachable):
        await loopback.stream(str(url.with_query(bytes=64)), pieces.append, 1 << 20, 0.3, 9)


async def send(outbound: Outbound, method: str, url: str, **changes: Any) -> Reply:
    asked = {"headers": {}, "body": None, "max_bytes": 1000, "timeout_seconds": 5, **changes}
    return await outbound.send(method, url, **asked)


async def test_an_answer_of_any_status_is_an_answer(server: TestServer, loopback: Outbound) -> None:
    """With its headers and body, to whatever method was asked."""
    url = str(server.make_url("/echo"))

    reply = await send(loopback, "POST", url, headers={"DPoP": "proof"}, body=b"form")

    assert (reply.status, reply.headers["dpop-nonce"]) == (401, "next")
    assert orjson.loads(reply.body) == {"method": "POST", "body": "form", "proof": "proof"}


async def test_an_answer_of_any_status_may_be_a_redirect(server: TestServer, loopback: Outbound) -> None:
    """Which nobody follows."""
    reply = await send(loopback, "GET", str(server.make_url("/redirect").with_query(to="/small")))

    assert (reply.status, reply.headers["Location"], reply.body) == (302, "/small", b"")


async def test_what_is_sent_is_guarded_and_capped_as_what_is_fetched(
    server: TestServer, loopback: Outbound, strict: Outbound
) -> None:
    """Inner addresses, floods, silence and broken connections."""
    with pytest.raises(Forbidden):
        await send(strict, "POST", str(server.make_url("/echo")))
    with pytest.raises(Forbidden):
        await send(strict, "POST", "https://169.254.169.254/latest")
    with pytest.raises(Forbidden):
        await send(loopback, "GET", str(server.make_url("/small")), headers={"X": "a\r\nY: b"})
    with pytest.raises(TooLarge):
        await send(loopback, "GET", str(server.make_url("/endless")))
    with pytest.raises(Unreachable):
        await send(loopback, "GET", str(server.make_url("/slow")), timeout_seconds=0.1)
    with pytest.raises(Unreachable):
        await send(loopback, "GET", str(server.make_url("/hangs_up")))


async def test_a_long_answer_ends_however_steadily_it_comes(server: TestServer, loopback: Outbound) -> None:
    """Ten pieces fast enough for the least speed, of which some come before the end."""
    url, pieces = server.make_url("/trickle").with_query(bytes=64 << 10), list[bytes]()

    with pytest.raises(Unreachable):
        await loopback.stream(str(url), pieces.append, 1 << 20, 0.3, 0.5)

    assert pieces


class Silent:
    """A server that takes connections at many addresses, one port, and never answers."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses
        self.open = 0
        self.most = 0
        self.port = 0

    async def __aenter__(self) -> "Silent":
        self._servers = []
        for address in self.addresses:
            self._servers.append(await asyncio.start_server(self._hold, address, self.port))
            self.port = self._servers[0].sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()

    async def _hold(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self.most = max(self.most, self.open)
        await reader.read()
        self.open -= 1
        writer.close()


async def test_one_network_does_not_hold_all_connections(server: TestServer) -> None:
    """However many addresses in it say nothing; a server elsewhere is asked meanwhile."""
    limits = SlotLimits(total=12, of_origin=2, of_site=99, of_network=4, patience_seconds=0.2)
    async with (
        Silent(*(f"127.0.7.{number}" for number in range(1, 20))) as silent,
        Outbound(Dns(), allow_loopback=True, limits=limits) as outbound,
    ):
        urls = [f"http://{address}:{silent.port}/" for address in silent.addresses]
        asking = [asyncio.create_task(outbound.fetch(url, 10, 1)) for url in urls]
        await asyncio.sleep(0.1)

        assert await outbound.fetch(str(server.make_url("/small")), 5, 5) == b"small"
        failed = await asyncio.gather(*asking, return_exceptions=True)

    assert silent.most == 4
    assert Counter(type(error) for error in failed) == {Unreachable: 4, NotNow: 15}
    assert all(error.unasked for error in failed if isinstance(error, NotNow))


async def test_a_host_is_reached_at_another_of_its_addresses(server: TestServer) -> None:
    """Where nobody listens at the first."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = closed.getsockname()[1]
    places = [("127.0.0.1", nobody), ("10.0.0.1", 443), ("127.0.0.1", server.port or 0)]

    class Several(Names):
        async def resolve(self, host: str, *_: Any) -> list[Any]:
            return [found for place in places for found in await Names({host: place}).resolve(host)]

    async with Outbound(Several({}), allow_loopback=True) as outbound:
        assert await outbound.fetch(f"http://localhost:{server.port}/small", 5, 5) == b"small"
