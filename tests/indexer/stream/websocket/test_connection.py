"""One websocket that is read: whole messages in bounded memory, whatever the server sends."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from websockets.asyncio.server import ServerConnection, serve
from yarl import URL

from indexer import faults
from indexer.network.websockets import WebSocketClient
from indexer.stream.prefilter import Prefilter
from indexer.stream.websocket import inbox
from indexer.stream.websocket.connection import CLOSE_SECONDS, MAX_WAITING, Connection, _Reads
from schemas.collections import Collections
from tests.network.doubles import HANDLE, Names
from tests.network.handshake import handshake_to
from tests.patience import PATIENCE_SECONDS

MAX_BYTES = 100_000
ONE_READ = 8 << 20  # what the kernel holds at most

Script = Callable[[ServerConnection], Awaitable[None]]
RawScript = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


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


def flooded_with(frame: bytes) -> contextlib.AbstractAsyncContextManager[Connection]:
    """A connection to a server that sends this frame again and again, as fast as it is read."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not reader.at_eof():
            writer.write(frame * (1 + (1 << 20) // len(frame)))
            await writer.drain()

    return connected_to_raw(talk)


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
    frames = b"\x82\x03one" + b"\x82\x83abcd" + b"\x82\x03two" * 3
    async with connected_to_raw(send_and_wait(frames)) as connection:
        assert await all_of(connection) == [b"one"]
        assert connection.close_code == 1002


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (b"\x03\xe8bye", 1000),
        (b"", 1005),
        (b"\x03", 1002),
        (b"\x07\xd0", 1002),
        (b"\x03\xe8\xff", 1007),
        (b"\x13\x87", 4999),
    ],
)
async def test_the_last_message_is_kept_however_the_server_closes(payload: bytes, code: int) -> None:
    """An error frame says what to do next time. Its connection ends here at once, though the server waits."""
    answers = asyncio.Queue[bytes]()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x82\x04last" + bytes([0x88, len(payload)]) + payload + b"\x82\x04more")
        answers.put_nowait(await reader.read(8))
        await reader.read()

    async with connected_to_raw(talk) as connection:
        began = asyncio.get_running_loop().time()
        assert await all_of(connection) == [b"last"]
        assert asyncio.get_running_loop().time() - began < CLOSE_SECONDS
        assert connection.close_code == code
        assert (await answers.get())[:1] == b"\x88"


async def test_answers_to_pings_that_are_not_read_do_not_pile_up() -> None:
    pings = b"\x89\x7d" + bytes(125)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            for _ in range(200):
                writer.write(pings * 8_000)
                await writer.drain()

    async with connected_to_raw(talk) as connection:
        assert await connection.take() is None
        await connection.close()
        assert connection.close_code == 1008
        assert str(connection.error) == "the answers to pings are not read"


async def test_a_large_message_may_take_longer_than_a_heartbeat() -> None:
    """The server cannot answer a ping in the middle of it."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x82\x7e\xff\xff")
        for _ in range(20):
            await asyncio.sleep(0.05)
            writer.write(bytes(3_000))
        writer.write(bytes(0xFFFF - 60_000))
        await reader.read()

    async with connected_to_raw(talk, heartbeat_seconds=0.3) as connection:
        bunch = await connection.take()
        assert bunch is not None
        assert bunch.size == 0xFFFF


async def test_a_close_inside_one_read_of_tls_ends_in_good_order(
    tls: tuple[ssl.SSLContext, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To close the socket while its bytes are parsed would have TLS read into the same buffer once more."""
    serving, trusting = tls
    parsing: list[int] = []
    deepest = 0
    parse = _Reads.buffer_updated

    def counted(self: _Reads, nbytes: int) -> None:
        nonlocal deepest
        parsing.append(nbytes)
        deepest = max(deepest, len(parsing))
        parse(self, nbytes)
        parsing.pop()

    monkeypatch.setattr(_Reads, "buffer_updated", counted)
    filler = 234_000
    message = b"\x82\x7f" + (filler + 20_000).to_bytes(8, "big") + b"A" * (filler + 20_000)
    unfinished = b"\x82\x7f" + (4_000_000).to_bytes(8, "big") + b"F" * 600_000

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(message[:filler])
        await asyncio.sleep(0.3)
        writer.write(message[filler:] + b"\x88\x02\x03\xe8" + b"\x89\x7d" + b"P" * 125 + unfinished)
        await reader.read()

    async with connected_to_raw(talk, max_bytes=8 << 20, tls=serving, trusting=trusting) as connection:
        assert [len(message) for message in await all_of(connection)] == [filler + 20_000]
        assert connection.close_code == 1000
        assert deepest == 1


def send_and_wait(frames: bytes) -> RawScript:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(frames)
        await reader.read()

    return talk


@contextlib.asynccontextmanager
async def connected_to_raw(
    script: RawScript,
    *,
    max_bytes: int = MAX_BYTES,
    heartbeat_seconds: float = 30.0,
    tls: ssl.SSLContext | None = None,
    trusting: ssl.SSLContext | None = None,
) -> AsyncIterator[Connection]:
    """A connection to a server that writes what it likes after the handshake."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(handshake_to(await reader.readuntil(b"\r\n\r\n")))
        with contextlib.suppress(ConnectionError):
            await script(reader, writer)
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    client = WebSocketClient(Names({HANDLE: ("127.0.0.1", port)}), tls=trusting)
    url = URL(f"wss://{HANDLE}/" if tls else f"ws://127.0.0.1:{port}/")
    connection = Connection(None, max_bytes=max_bytes, heartbeat_seconds=heartbeat_seconds)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await client.connect(url, connection, max_frame_bytes=max_bytes)
        try:
            yield connection
        finally:
            await connection.close()
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
