"""Requests on one connection: what needs no wait is answered without a task, and all else is as with one."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator

import pytest
import uvloop
from aiohttp import web

from readapi.answers import Answer
from readapi.errors import NotFound
from readapi.http import cohort
from readapi.http.endpoint import Routes
from readapi.http.server import ConnectionTimeouts
from readapi.http.viewer import Requester, SignedIn
from schemas.access import Viewer
from schemas.api.shape import Asked
from tests.patience import PATIENCE_SECONDS
from tests.readapi.http.test_server import Connection, connect
from tests.readapi.site import Site, running
from tests.readapi.state.people import token

PATIENCE = ConnectionTimeouts(head=30.0, idle=30.0, stalled=1.0)
FLOOD = b'"' + random.Random(1).randbytes(2 << 20).hex().encode() + b'"'


class Seen:
    """What the handlers of a site have seen."""

    def __init__(self) -> None:
        self.calls = 0
        self.called, self.cancelled = asyncio.Event(), asyncio.Event()
        self.go_on = asyncio.Event()


def has_task() -> bytes:
    return b"true" if asyncio.current_task() else b"false"


routes = Routes("test")


@routes.get("/plain")
def plain(seen: Seen, number: int = 0) -> Answer[bool]:
    """Say whether there is a task."""
    seen.calls += 1
    return Answer(has_task())


@routes.get("/coroutine")
async def coroutine() -> Answer[bool]:
    """Say whether there is a task."""
    return Answer(has_task())


@routes.get("/prompt", prompt=True)
async def prompt(viewer: Viewer | None) -> Answer[bool]:
    """Say whether there is a task."""
    return Answer(has_task())


@routes.get("/waits", prompt=True)
async def waits(seen: Seen) -> Answer[bool]:
    """Wait until the test says so."""
    seen.calls += 1
    seen.called.set()
    try:
        await seen.go_on.wait()
    except asyncio.CancelledError:
        seen.cancelled.set()
        raise
    return Answer(has_task())


@routes.get("/refuses", raises=(NotFound,))
def refuses() -> Answer[bool]:
    """Refuse."""
    raise NotFound


@routes.get("/fails")
def fails() -> Answer[bool]:
    """Fail."""
    raise RuntimeError("the secret cause")


@routes.get("/streams")
def streams() -> web.StreamResponse:
    """Answer with a response of the framework."""
    return web.Response(text="streamed")


class Title(Asked):
    """A body."""

    title: str


@routes.post("/act")
def act(sent: Title) -> Answer[bool]:
    """Take a body."""
    return Answer(has_task())


@routes.get("/flood")
def flood(seen: Seen) -> Answer[str]:
    """Answer with more than fits on the way."""
    seen.calls += 1
    return Answer(FLOOD)


@routes.get("/task/flood")
async def flood_from_task() -> Answer[str]:
    """Answer with more than fits on the way, in a task."""
    return Answer(FLOOD)


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
async def site(seen: Seen) -> AsyncIterator[Site]:
    async with running(routes, {Seen: seen}, patience=PATIENCE) as site:
        yield site


def request(path: str, *lines: str, method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *lines, "", ""]).encode()


async def answers(connection: Connection, count: int) -> list[tuple[int, bytes]]:
    """The next responses on a connection: status and body of each."""
    found = []
    for _ in range(count):
        head = await connection[0].readuntil(b"\r\n\r\n")
        lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
        body = await connection[0].readexactly(int(lines.get(b"content-length", 0)))
        found.append((int(head[9:12]), body))
    return found


async def turns() -> None:
    """Let the event loop turn a few times: a slow machine needs more than one for a request."""
    for _ in range(10):
        await asyncio.sleep(0)


async def asked(site: Site, *sent: bytes) -> list[tuple[int, bytes]]:
    """The response to each of these requests, sent one after another on one connection."""
    connection = await connect(site)
    found = []
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            for one in sent:
                connection[1].write(one)
                found += await answers(connection, 1)
    finally:
        connection[1].transport.abort()
    return found


@pytest.mark.parametrize(
    ("path", "answer"),
    [("/plain", b"false"), ("/prompt", b"false"), ("/coroutine", b"true")],
)
async def test_what_waits_for_nothing_has_no_task(site: Site, path: str, answer: bytes) -> None:
    assert await asked(site, request(path)) == [(200, answer)]


class Wire(asyncio.Transport):
    """A transport that keeps the bodies of the responses that are written to it."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 5), "sockname": ("127.0.0.1", 80)})
        self.answered = 0
        self.is_read = True
        self.bodies: list[bytes] = []
        self.was_written = asyncio.Event()
        self.was_closed = asyncio.Event()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.answered += bytes(data).count(b"HTTP/1.1 200 OK")
        self.bodies.append(bytes(data).rpartition(b"\r\n\r\n")[2])
        self.was_written.set()

    async def until(self, count: int) -> None:
        """Wait for so many responses."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(self.bodies) < count:
                self.was_written.clear()
                await self.was_written.wait()

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True

    def is_closing(self) -> bool:
        return False

    def abort(self) -> None:
        """Nothing is left to send."""
        self.was_closed.set()

    close = abort


async def test_a_request_may_arrive_before_the_task_is_back_in_its_loop(site: Site) -> None:
    """Under load it does: on a new connection, and after a request that waited."""
    connection, wire = site.connection(), Wire()
    connection.connection_made(wire)
    connection.data_received(request("/plain"))
    await turns()
    assert wire.bodies == [b"false"]

    wire.was_written.clear()
    connection.data_received(request("/coroutine"))
    await wire.was_written.wait()
    connection.data_received(request("/plain"))
    await turns()
    assert wire.bodies == [b"false", b"true", b"false"]
    connection.connection_lost(None)


async def test_a_request_that_follows_at_once_is_answered_after_the_first(site: Site) -> None:
    connection, wire = site.connection(), Wire()
    connection.connection_made(wire)
    for path in ("/plain", "/refuses", "/coroutine"):
        connection.data_received(request(path))
    await wire.until(3)
    assert [b"not_found" in body for body in wire.bodies] == [False, True, False]
    connection.connection_lost(None)


async def test_a_connection_is_not_closed_as_idle_between_a_request_and_its_start(site: Site) -> None:
    connection, wire = site.connection(), Wire()
    connection.connection_made(wire)
    await asyncio.sleep(0)  # the task waits now
    connection.keep_alive(True)
    connection._next_keepalive_close_time = 0.0
    connection.data_received(request("/plain"))
    connection._process_keepalive()
    await turns()
    assert wire.bodies == [b"false"]
    connection.connection_lost(None)


async def test_a_connection_that_is_lost_between_a_request_and_its_start(site: Site, seen: Seen) -> None:
    connection, wire = site.connection(), Wire()
    connection.connection_made(wire)
    connection.data_received(request("/plain"))
    connection.connection_lost(None)
    await turns()
    assert wire.bodies == []
    assert seen.calls == 0


async def test_requests_that_arrive_together_are_answered_beside_one_another(site: Site, seen: Seen) -> None:
    """One waits and one fails; the others are not held up."""
    paths = ("/plain", "/waits", "/fails", "/nowhere", "/prompt")
    wires = []
    for path in paths:
        connection, wire = site.connection(), Wire()
        connection.connection_made(wire)
        connection.data_received(request(path))
        wires.append((connection, wire))
    async with asyncio.timeout(PATIENCE_SECONDS):
        for _, wire in wires[:1] + wires[2:]:
            await wire.was_written.wait()
        assert wires[0][1].bodies == wires[4][1].bodies == [b"false"]
        assert wires[1][1].bodies == []
        seen.go_on.set()
        await wires[1][1].was_written.wait()
    assert wires[1][1].bodies == [b"true"]
    for connection, _ in wires:
        connection.connection_lost(None)


@pytest.fixture
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop reads and closes connections between any two stages."""
    monkeypatch.setattr(cohort, "TURN_SECONDS", 0.0)


@pytest.mark.usefixtures("short_turns")
async def test_what_arrives_between_two_stages_of_a_request_is_read_after_its_answer(
    site: Site, seen: Seen
) -> None:
    connection, wire = site.connection(), Wire()
    connection.connection_made(wire)
    await asyncio.sleep(0)  # the task waits now
    connection.data_received(request("/plain"))
    await asyncio.sleep(0)
    connection.data_received(request("/refuses") + request("/plain?number=2")[:9])
    assert (wire.bodies, wire.is_read) == ([], False)
    await wire.until(2)
    assert (seen.calls, wire.is_read) == (1, True)
    connection.data_received(request("/plain?number=2")[9:])
    await wire.until(3)
    assert [b"not_found" in body for body in wire.bodies] == [False, True, False]
    assert seen.calls == 2
    connection.connection_lost(None)


@pytest.mark.usefixtures("short_turns")
@pytest.mark.parametrize("path", ["/plain", "/waits"])
async def test_a_connection_that_is_closed_between_two_stages_still_answers(
    site: Site, seen: Seen, path: str
) -> None:
    """As when the service is stopped."""
    seen.go_on.set()
    connection, wire = site.connection(), Wire()
    connection.connection_made(wire)
    await asyncio.sleep(0)
    connection.data_received(request(path))
    await asyncio.sleep(0)
    connection.close()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await wire.was_written.wait()
        await connection.shutdown(PATIENCE_SECONDS)
    assert len(wire.bodies) == 1
    assert wire.answered == 1
    connection.connection_lost(None)


async def test_a_connection_that_is_closed_before_the_start_answers_what_has_arrived(site: Site) -> None:
    connection, wire = site.connection(), Wire()
    connection.connection_made(wire)
    await asyncio.sleep(0)
    connection.data_received(request("/plain"))
    connection.close()
    connection.data_received(request("/plain?number=2"))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await wire.was_written.wait()
        await connection.shutdown(PATIENCE_SECONDS)
    assert len(wire.bodies) == 1
    connection.connection_lost(None)


@pytest.mark.usefixtures("short_turns")
@pytest.mark.parametrize("path", ["/plain", "/waits", "/fails"])
async def test_a_connection_that_is_lost_between_two_stages(site: Site, path: str) -> None:
    connection, wire = site.connection(), Wire()
    connection.connection_made(wire)
    connection.data_received(request(path))
    await asyncio.sleep(0)
    connection.connection_lost(None)
    for _ in range(10):
        await asyncio.sleep(0)
    assert wire.bodies == []
    assert site.metrics.in_flight == 0


@pytest.mark.parametrize("lines", [(), ("Connection: close",)])
async def test_an_address_with_an_impossible_host_is_refused_and_harms_no_other(
    site: Site, lines: tuple[str, ...]
) -> None:
    bad = request("http://xn--a/", *lines)
    wires = []
    for sent in (request("/plain"), bad, request("/plain?number=2")):
        connection, wire = site.connection(), Wire()
        connection.connection_made(wire)
        await asyncio.sleep(0)
        wires.append((connection, wire, sent))
    for connection, _, sent in wires:
        connection.data_received(sent)
    async with asyncio.timeout(PATIENCE_SECONDS):
        for _, wire, _ in wires:
            await wire.was_written.wait()
        await wires[1][1].was_closed.wait()
    assert [wire.bodies for _, wire, _ in wires[::2]] == [[b"false"], [b"false"]]
    assert b'"invalid_request"' in wires[1][1].bodies[0]
    for connection, _, _ in wires:
        connection.connection_lost(None)


async def test_a_client_that_sends_no_more_is_answered_before_the_end(site: Site) -> None:
    connection, wire = site.connection(), Wire()
    connection.connection_made(wire)
    await asyncio.sleep(0)
    assert not connection.eof_received()
    connection.data_received(request("/plain"))
    assert connection.eof_received()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await wire.was_closed.wait()
    assert wire.bodies == [b"false"]
    connection.connection_lost(None)


async def test_a_connection_takes_many_requests_and_then_several_at_once(site: Site) -> None:
    """aiohttp's parser counts what it has given out, and stops when that is not taken back."""
    many = 40  # more than it gives out at once
    connection = await connect(site)
    async with asyncio.timeout(PATIENCE_SECONDS):
        for _ in range(many):
            connection[1].write(request("/plain"))
            assert await answers(connection, 1) == [(200, b"false")]
        connection[1].write(request("/plain") * 3)
        assert [status for status, _ in await answers(connection, 3)] == [200] * 3
    connection[1].transport.abort()


async def test_no_request_overtakes_one_that_waits(site: Site, seen: Seen) -> None:
    connection, wire = site.connection(), Wire()
    connection.connection_made(wire)
    connection.data_received(request("/waits"))
    for _ in range(5):
        await asyncio.sleep(0)
        connection.data_received(request("/plain"))
    assert wire.answered == 0
    seen.go_on.set()
    async with asyncio.timeout(PATIENCE_SECONDS):
        for answered in range(1, 7):
            while wire.answered < answered:
                wire.was_written.clear()
                await wire.was_written.wait()
    connection.connection_lost(None)


async def test_nothing_is_answered_after_the_last_response(site: Site) -> None:
    connection, wire = site.connection(), Wire()
    connection.connection_made(wire)
    connection.data_received(request("/coroutine", "Connection: close"))
    for _ in range(10):
        connection.data_received(request("/plain"))
        await asyncio.sleep(0)
    assert wire.answered == 1
    connection.connection_lost(None)


async def test_a_prompt_handler_has_a_task_for_an_account() -> None:
    async def who_asks(_: web.Request) -> Requester:
        return Requester(SignedIn(token("did:plc:mara", "mara.test")), None, by_cookie=False)

    async with running(routes, {Seen: Seen()}, who_asks=who_asks) as site:
        assert await asked(site, request("/prompt")) == [(200, b"true")]


@pytest.mark.parametrize(
    ("path", "status"),
    [("/refuses", 404), ("/fails", 500), ("/nowhere", 404), ("/plain?number=x", 422), ("/%00", 404)],
)
async def test_refusals_and_errors_are_answers(site: Site, path: str, status: int) -> None:
    """And the connection serves the next request."""
    (refused, body), after = await asked(site, request(path), request("/plain"))

    assert refused == status
    assert b'"message":' in body
    assert b"secret" not in body
    assert after == (200, b"false")
    assert site.metrics.in_flight == 0


async def test_an_error_of_the_gate_itself_is_an_answer(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> object:
        raise ValueError("the secret cause")

    monkeypatch.setattr(site.gate._responses, "of", fail)

    ((status, body),) = await asked(site, request("/plain"))

    assert status == 500
    assert b"internal" in body
    assert b"secret" not in body


async def test_a_response_of_the_framework_is_sent_in_a_task(site: Site) -> None:
    found = await asked(site, request("/streams"), request("/plain"))

    assert found == [(200, b"streamed"), (200, b"false")]


@pytest.mark.parametrize(
    "lines", [("Connection: close",), ("Expect: 100-continue",), ("Connection: upgrade", "Upgrade: h2c")]
)
async def test_requests_that_change_the_connection_have_a_task(site: Site, lines: tuple[str, ...]) -> None:
    connection = await connect(site, request("/plain", *lines))
    async with asyncio.timeout(PATIENCE_SECONDS):
        if "Expect" in lines[0]:
            await connection[0].readuntil(b"100 Continue\r\n\r\n")
        assert await answers(connection, 1) == [(200, b"true")]
    connection[1].transport.abort()


async def test_actions_have_a_task_even_without_a_body(site: Site) -> None:
    """To read the body takes one, with its timeouts."""
    sent = request("/act", "Content-Type: application/json", "Content-Length: 0", method="POST")

    ((status, _),) = await asked(site, sent)

    assert 400 <= status < 500


async def test_requests_with_a_body_have_a_task(site: Site) -> None:
    ((status, body),) = await asked(site, request("/plain", "Content-Length: 2") + b"{}")

    assert (status, body) == (200, b"true")


async def test_pipelined_requests_are_answered_in_order(site: Site, seen: Seen) -> None:
    seen.go_on.set()
    paths = ("/plain", "/waits", "/plain", "/refuses", "/coroutine", "/plain")

    connection = await connect(site, b"".join(map(request, paths)))
    async with asyncio.timeout(PATIENCE_SECONDS):
        found = await answers(connection, len(paths))

    connection[1].transport.abort()
    assert [status for status, _ in found] == [200, 200, 200, 404, 200, 200]


async def test_a_request_in_pieces_is_answered_once(site: Site, seen: Seen) -> None:
    first, second = request("/plain?number=1"), request("/plain?number=2")
    connection = await connect(site)
    async with asyncio.timeout(PATIENCE_SECONDS):
        for byte in first + second[:20]:
            connection[1].write(bytes([byte]))
            await connection[1].drain()
            await asyncio.sleep(0)
        assert await answers(connection, 1) == [(200, b"false")]
        connection[1].write(second[20:])
        assert await answers(connection, 1) == [(200, b"false")]
    assert seen.calls == 2
    connection[1].transport.abort()


async def test_what_waits_after_all_is_called_once_and_answered(site: Site, seen: Seen) -> None:
    connection = await connect(site, request("/waits"))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await seen.called.wait()
        connection[1].write(request("/plain"))  # has to wait for the first
        seen.go_on.set()
        assert await answers(connection, 2) == [(200, b"true"), (200, b"true")]
    assert seen.calls == 2
    connection[1].transport.abort()


async def test_a_client_that_leaves_ends_what_waits(site: Site, seen: Seen) -> None:
    connection = await connect(site, request("/waits"))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await seen.called.wait()
        connection[1].transport.abort()
        await seen.cancelled.wait()
    assert site.metrics.in_flight == 0


@pytest.mark.parametrize("path", ["/flood", "/task/flood"])
def test_a_long_body_follows_its_head_and_another_response_follows_it(seen: Seen, path: str) -> None:
    """On the event loop of production, which alone sends the parts of a response without joining them."""

    async def answered() -> list[tuple[int, bytes]]:
        async with running(routes, {Seen: seen}, patience=PATIENCE) as site:
            return await asked(site, request(path), request("/plain"))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(answered()) == [(200, FLOOD), (200, b"false")]


@pytest.mark.parametrize("lines", [(), ("Connection: close",)])
def test_a_client_that_reads_slowly_gets_all_of_a_long_body(seen: Seen, lines: tuple[str, ...]) -> None:
    async def read() -> bytes:
        async with (
            running(routes, {Seen: seen}, patience=PATIENCE) as site,
            asyncio.timeout(PATIENCE_SECONDS),
        ):
            reader, writer = await connect(site)
            writer.write(request("/flood", *lines))
            await reader.readuntil(b"\r\n\r\n")
            body = b""
            while len(body) < len(FLOOD):
                body += await reader.read(1 << 18)
                await asyncio.sleep(0.001)
            writer.transport.abort()
            return body

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(read()) == FLOOD


async def test_a_client_that_takes_no_answers_gets_no_more_of_them(site: Site, seen: Seen) -> None:
    """It is not answered while its answers lie here, and let go in the end."""
    connection = await connect(site)
    connection[1].transport.pause_reading()  # type: ignore[attr-defined]  # of every transport that reads
    async with asyncio.timeout(PATIENCE_SECONDS):
        with contextlib.suppress(ConnectionError):
            for number in range(20):
                connection[1].write(request(f"/flood?{number}"))
                await connection[1].drain()
                await asyncio.sleep(0.01)
            while not connection[1].is_closing():
                connection[1].write(b"\r\n")
                await connection[1].drain()
                await asyncio.sleep(0.05)
    assert 1 <= seen.calls < 10
