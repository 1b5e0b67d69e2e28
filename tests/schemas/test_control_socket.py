"""The client of the control socket is bounded in time and size, and says in a sentence what went wrong."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest
import pytest_asyncio
from aiohttp import web

from schemas import control_socket
from schemas.control_socket import Unanswered
from schemas.ids import AtUri

URI = AtUri.parse("at://did:plc:abcdefghijklmnopqrstuvwx/fm.svc.track/3kabcdefghijk")


@pytest_asyncio.fixture
async def process(tmp_path: Path) -> AsyncIterator[Path]:
    """The socket of a process that answers by the path that it is asked for."""

    async def say(request: web.Request) -> web.Response:
        told = {"method": request.method, "query": dict(request.query), "body": await request.text()}
        return web.Response(body=orjson.dumps(told), headers={"Told": "yes"})

    async def large(request: web.Request) -> web.StreamResponse:
        """Without a length, so that only reading tells how much it is."""
        answer = web.StreamResponse()
        await answer.prepare(request)
        for _ in range(int(request.query["kilobytes"])):
            await answer.write(bytes(1 << 10))
        return answer

    async def hang(_: web.Request) -> web.Response:
        await asyncio.sleep(3600)
        raise AssertionError

    async def lines(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        for number in range(int(request.query["number"])):
            await answer.write(f"line {number}\n".encode())
        if "breaks" in request.query:
            assert request.transport is not None
            request.transport.abort()
        return answer

    async def missing(_: web.Request) -> web.Response:
        return web.Response(status=404, body=b"none")

    async def away(_: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "/say"})

    app = web.Application()
    for handler in (say, large, hang, lines, missing, away):
        app.router.add_route("*", f"/{handler.__name__}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    path = tmp_path / "process.sock"
    await web.UnixSite(runner, path).start()
    yield path
    await runner.cleanup()


async def test_an_answer_is_read_whole_with_its_status_and_headers(process: Path) -> None:
    answer = await control_socket.ask(process, "POST", "/say", seconds=None, query={"a": "b c"}, body=b"told")

    assert (answer.status, answer.headers["Told"]) == (200, "yes")
    assert orjson.loads(answer.body) == {"method": "POST", "query": {"a": "b c"}, "body": "told"}


async def test_an_answer_larger_than_the_limit_is_none(process: Path) -> None:
    """One of just that size is whole."""
    query = {"kilobytes": "256"}

    whole = await control_socket.ask(
        process, "GET", "/large", seconds=None, query=query, most_bytes=256 << 10
    )
    with pytest.raises(Unanswered, match="answers /large with more than 262,143 bytes"):
        await control_socket.ask(
            process, "GET", "/large", seconds=None, query=query, most_bytes=(256 << 10) - 1
        )

    assert len(whole.body) == 256 << 10


async def test_a_process_that_hangs_costs_the_given_seconds(process: Path) -> None:
    """Also one that lets others connect and accepts none of them."""
    deaf = process.with_name("deaf.sock")
    began = time.monotonic()
    with socket.socket(socket.AF_UNIX) as hanging:
        hanging.bind(str(deaf))
        hanging.listen()
        for path in (process, deaf):
            with pytest.raises(Unanswered, match="does not answer /hang"):
                await control_socket.ask(path, "GET", "/hang", seconds=0.2)

    assert time.monotonic() - began >= 0.4


async def test_only_an_accepted_status_is_an_answer(process: Path) -> None:
    """A redirection is none, and is not followed."""
    accepted = await control_socket.ask(process, "GET", "/missing", seconds=None, accepted=(200, 404))
    with pytest.raises(Unanswered, match="answers /missing with status 404"):
        await control_socket.ask(process, "GET", "/missing", seconds=None)
    with pytest.raises(Unanswered, match="answers /away with status 302"):
        await control_socket.ask(process, "GET", "/away", seconds=None)

    assert (accepted.status, accepted.body) == (404, b"none")


async def test_no_process_is_no_answer(tmp_path: Path) -> None:
    with pytest.raises(Unanswered, match=r"none\.sock does not answer /health"):
        await control_socket.ask(tmp_path / "none.sock", "GET", control_socket.HEALTH, seconds=None)


async def test_lines_are_yielded_as_they_come(process: Path) -> None:
    lines = control_socket.ask_lines(process, "POST", "/lines", query={"number": "3"})

    assert [line async for line in lines] == [b"line 0\n", b"line 1\n", b"line 2\n"]


async def test_lines_that_break_off_are_an_error(process: Path) -> None:
    """Else half of the work would look like all of it."""
    lines = control_socket.ask_lines(process, "POST", "/lines", query={"number": "2", "breaks": "yes"})

    with pytest.raises(Unanswered, match="does not answer /lines"):
        _ = [line async for line in lines]


def test_a_socket_listens_while_its_process_does(tmp_path: Path) -> None:
    """A process that is too busy to accept connections still does; a file that was left behind does not."""
    path = tmp_path / "process.sock"
    nothing = control_socket.is_listening(path)
    waiting = []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        bound = control_socket.is_listening(path)
        server.listen(1)
        for _ in range(10):
            client = socket.socket(socket.AF_UNIX)
            client.setblocking(False)
            waiting.append(client)
            try:
                client.connect(str(path))
            except BlockingIOError:
                break
        busy = control_socket.is_listening(path)
    for client in waiting:
        client.close()

    assert (nothing, bound, busy) == (False, False, True)
    assert path.exists()
    assert not control_socket.is_listening(path)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b"{}",
        b'{"did": "did:plc:other", "uri": "%s"}' % str(URI).encode(),
        b'{"uri": 7}',
    ],
)
def test_what_names_no_record_of_the_account_is_none(body: bytes) -> None:
    assert control_socket.decode_uri(body) is None


def test_a_request_names_one_record() -> None:
    assert control_socket.decode_uri(control_socket.encode_uri(URI)) == URI
