"""One websocket that is read: whole messages in bounded memory, whatever the server sends."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from websockets.asyncio.server import ServerConnection, serve
from yarl import URL

from indexer import faults
from indexer.network.websockets import WebSocketClient
from indexer.stream.prefilter import Prefilter
from indexer.stream.websocket import inbox
from indexer.stream.websocket.connection import MAX_WAITING, Connection
from schemas.collections import Collections
from tests.network.handshake import handshake_to
from tests.patience import PATIENCE_SECONDS

MAX_BYTES = 100_000
ONE_READ = 8 << 20  # what the kernel holds at most

Script = Callable[[ServerConnection], Awaitable[None]]


@contextlib.asynccontextmanager
async def connected_to(
    script: Script, prefilter: Prefilter | None = None, heartbeat_seconds: float = 30.0
) -> AsyncIterator[Connection]:
    """A connection to a server that does what the script says; it is closed at the end."""
    async with serve(script, "127.0.0.1", 0, max_size=None) as server, asyncio.timeout(PATIENCE_SECONDS):
        url = URL(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        connection = Connection(prefilter, max_bytes=MAX_BYTES, heartbeat_seconds=heartbeat_seconds)
        await WebSocketClient().connect(url, connection, max_frame_bytes=MAX_BYTES)
        try:
            yield connection
        finally:
            await connection.close()


async def all_of(connection: Connection) -> list[bytes]:
    """Every message until the connection ends."""
    received: list[bytes] = []
    while bunch := await connection.take():
        received += [message for message, _ in bunch.kept]
    await connection.close()
    return received


async def test_fragments_are_joined_and_an_empty_message_is_one() -> None:
    async def script(server: ServerConnection) -> None:
        await server.send([b"one, ", b"", b"two"])
        await server.send("thr\u00e9e")
        await server.send(b"")
        await server.send(["fo", "ur"])

    async with connected_to(script) as connection:
        assert await all_of(connection) == [b"one, two", "thr\u00e9e".encode(), b"", b"four"]
        assert connection.close_code == 1000
        assert connection.error is None


@pytest.mark.parametrize("fragments", [[b"x" * 60_000] * 2, [b""] * 2_000, [b"x"] * 5_000])
async def test_fragments_are_no_way_around_the_limit(fragments: list[bytes]) -> None:
    """Neither large ones, nor so many that the list of them is large."""

    async def script(server: ServerConnection) -> None:
        await server.send(b"before")
        with contextlib.suppress(Exception):
            await server.send(fragments)
            await server.send(b"after")

    async with connected_to(script) as connection:
        assert await all_of(connection) == [b"before"]
        assert connection.close_code == 1009
        assert str(connection.error) == "a message above 100000 bytes"


@pytest.mark.parametrize("size", [300, 50_000])
async def test_what_waits_is_bounded(size: int) -> None:
    """A busy consumer's memory: the rest waits in the buffers of the kernel and at the server."""
    frame = b"\x82\x7e" + size.to_bytes(2, "big") + bytes(size)
    async with flooded_with(frame) as connection:
        await connection.take()
        await asyncio.sleep(0.3)
        for _ in range(3):
            bunch = await connection.take()
            assert bunch is not None
            assert bunch.size + bunch.messages * inbox.MESSAGE_BYTES < inbox.MAX_BYTES + ONE_READ


async def test_so_many_small_messages_that_only_their_number_counts_end_the_connection() -> None:
    async with flooded_with(b"\x82\x00") as connection:
        largest = 0
        while bunch := await connection.take():
            largest = max(largest, bunch.messages)
            await asyncio.sleep(0.1)  # the kernel's buffers fill meanwhile
        await connection.close()

        assert largest == MAX_WAITING + 1
        assert connection.close_code == 1008
        assert str(connection.error) == "more than 100000 messages at once"


@contextlib.asynccontextmanager
async def flooded_with(frame: bytes) -> AsyncIterator[Connection]:
    """A connection to a server that sends this frame again and again, as fast as it is read."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(handshake_to(await reader.readuntil(b"\r\n\r\n")))
        with contextlib.suppress(ConnectionError):
            while not reader.at_eof():
                writer.write(frame * (1 + (1 << 20) // len(frame)))
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    url = URL(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
    connection = Connection(None, max_bytes=MAX_BYTES, heartbeat_seconds=30)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await WebSocketClient().connect(url, connection, max_frame_bytes=MAX_BYTES)
        try:
            yield connection
        finally:
            await connection.close()
            server.close()


async def test_a_consumer_that_is_busy_for_long_does_not_lose_the_connection() -> None:
    """While the socket is not read, no pong is either."""

    async def script(server: ServerConnection) -> None:
        for _ in range(30):
            await server.send(bytes(90_000))
        await server.wait_closed()

    async with connected_to(script, heartbeat_seconds=0.1) as connection:
        received = 0
        while received < 30:
            await asyncio.sleep(0.6)
            bunch = await connection.take()
            assert bunch is not None
            received += bunch.messages
        assert not connection.is_silent


async def test_a_server_that_violates_the_protocol_is_left() -> None:
    """A masked frame (RFC 6455, section 5.1); nothing behind it is a message."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(handshake_to(head))
        writer.write(b"\x82\x03one" + b"\x82\x83abcd" + b"\x82\x03two" * 3)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    connection = Connection(None, max_bytes=MAX_BYTES, heartbeat_seconds=30)
    url = URL(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
    await WebSocketClient().connect(url, connection, max_frame_bytes=MAX_BYTES)

    assert await all_of(connection) in ([], [b"one"])
    assert connection.close_code == 1002
    server.close()


async def test_a_fault_of_the_prefilter_keeps_the_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is for the decoder then, and counted."""

    async def script(server: ServerConnection) -> None:
        await server.send(b"one")
        await server.send(b"two")

    def fail(self: Prefilter, raw: bytes) -> bool:
        raise ZeroDivisionError

    monkeypatch.setattr(Prefilter, "passes", fail)
    count = faults.FAULTS.labels("glance")._value
    before = count.get()
    async with connected_to(script, Prefilter(Collections().all, ())) as connection:
        assert await all_of(connection) == [b"one", b"two"]
    assert count.get() == before + 2
