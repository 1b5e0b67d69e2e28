"""Opening a websocket: to permitted addresses only, over TLS where the URL says so, and never half."""

import asyncio
import contextlib
import http
import ssl
from collections.abc import AsyncIterator

import pytest
from picows import WSFrame, WSListener, WSTransport
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from yarl import URL

from indexer.network.ssrf import is_public
from indexer.network.websockets import NotUpgraded, WebSocketClient
from tests.network.doubles import HANDLE, Names
from tests.patience import PATIENCE_SECONDS


class Listener(WSListener):
    """Waits for the first message."""

    def __init__(self) -> None:
        self.first: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if not self.first.done():
            self.first.set_result(frame.get_payload_as_bytes())


class Host:
    """A websocket server that sends "hello", and what it heard of those who came."""

    def __init__(self) -> None:
        self.port = 0
        self.came: list[ServerConnection] = []
        self.answer: Response | None = None

    @property
    def url(self) -> URL:
        return URL(f"ws://127.0.0.1:{self.port}/stream?cursor=7")

    async def serve(self, connection: ServerConnection) -> None:
        self.came.append(connection)
        await connection.send("hello")
        await connection.wait_closed()

    def check(self, connection: ServerConnection, request: Request) -> Response | None:
        return self.answer


@contextlib.asynccontextmanager
async def hosting(tls: ssl.SSLContext | None = None, **options: object) -> AsyncIterator[Host]:
    host = Host()
    async with serve(host.serve, "127.0.0.1", 0, ssl=tls, process_request=host.check, **options) as server:
        host.port = server.sockets[0].getsockname()[1]
        yield host


@contextlib.asynccontextmanager
async def connected(client: WebSocketClient, url: URL, **options: object) -> AsyncIterator[Listener]:
    listener = Listener()
    transport = await client.connect(url, listener, max_frame_bytes=1000, **options)
    yield listener
    transport.disconnect()
    await transport.wait_disconnected()


async def hello_of(client: WebSocketClient, url: URL, **options: object) -> bytes:
    async with asyncio.timeout(PATIENCE_SECONDS), connected(client, url, **options) as listener:
        return await listener.first


async def test_it_connects_and_says_who_it_is() -> None:
    async with hosting(subprotocols=["xrpc.v1.json"]) as host:
        assert await hello_of(WebSocketClient(), host.url, protocols=("other", "xrpc.v1.json")) == b"hello"

    request = host.came[0].request
    assert request is not None
    assert request.path == "/stream?cursor=7"
    assert request.headers["User-Agent"] == "fmsvc"
    assert host.came[0].subprotocol == "xrpc.v1.json"


async def test_a_name_is_looked_up_and_its_certificate_checked(
    tls: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    """The certificate is of another name, and of an authority that only the given context trusts."""
    serving, trusting = tls
    async with hosting(serving) as host:
        names = Names({HANDLE: ("127.0.0.1", host.port), "other.example": ("127.0.0.1", host.port)})
        trusted = WebSocketClient(names, tls=trusting)

        assert await hello_of(trusted, URL(f"wss://{HANDLE}/")) == b"hello"
        with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
            await hello_of(trusted, URL("wss://other.example/"))
        with pytest.raises(ssl.SSLCertVerificationError, match="self-signed"):
            await hello_of(WebSocketClient(names), URL(f"wss://{HANDLE}/"))
        with pytest.raises(OSError, match="Name or service not known"):
            await hello_of(trusted, URL("wss://nowhere.example/"))


@pytest.mark.parametrize("host", ["127.0.0.1", "inside.example", "10.0.0.1", "[::1]", "169.254.169.254"])
async def test_a_private_address_is_not_connected_to(host: str) -> None:
    """Neither one that the URL names, nor one that a name resolves to."""
    async with hosting() as listening:
        names = Names({"inside.example": ("127.0.0.1", listening.port)})
        with pytest.raises(PermissionError, match="not a public address"):
            await hello_of(WebSocketClient(names, may_visit=is_public), URL(f"ws://{host}:{listening.port}/"))

        assert listening.came == []


async def test_a_port_where_nothing_listens_refuses_the_connection() -> None:
    """The message is the system's."""
    async with hosting() as host:
        gone = host.url
    with pytest.raises(ConnectionRefusedError, match="Connection refused"):
        await hello_of(WebSocketClient(), gone)


async def test_another_status_is_reported_with_its_retry_after() -> None:
    async with hosting() as host:
        host.answer = Response(429, http.HTTPStatus(429).phrase, Headers({"Retry-After": "7"}), b"slow down")
        with pytest.raises(NotUpgraded, match="HTTP 429 instead of a websocket") as refused:
            await hello_of(WebSocketClient(), host.url)

    assert (refused.value.status, refused.value.retry_after) == (429, "7")


@pytest.mark.parametrize("line", [b"HTTP/1.1 522", b"HTTP/1.0 503 ", b"HTTP/1.1 429 Too Many Requests"])
async def test_a_status_without_a_name_is_one(line: bytes) -> None:
    """Proxies have their own, and names of statuses are optional (RFC 9112, section 4)."""
    with pytest.raises(NotUpgraded) as refused:
        await hello_of_raw(line + b"\r\nretry-after:  9 \r\n\r\n")

    assert (refused.value.status, refused.value.retry_after) == (int(line[9:12]), "9")


async def test_a_user_name_is_sent_as_credentials_and_a_last_dot_is_not_the_certificates(
    tls: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    serving, trusting = tls
    async with hosting(serving) as host:
        names = Names({HANDLE: ("127.0.0.1", host.port)})
        client = WebSocketClient(names, tls=trusting)
        assert await hello_of(client, URL(f"wss://me:secret@{HANDLE}.:{host.port}/")) == b"hello"

    request = host.came[0].request
    assert request is not None
    assert request.headers["Authorization"] == "Basic bWU6c2VjcmV0"
    assert "secret" not in request.headers["Host"]


async def test_a_redirect_is_not_followed() -> None:
    async with hosting() as there, hosting() as here:
        here.answer = Response(302, "Found", Headers({"Location": str(there.url)}), b"")
        with pytest.raises(NotUpgraded, match="HTTP 302"):
            await hello_of(WebSocketClient(), here.url)

        assert there.came == []


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"220 mail.example ESMTP\r\n\r\n",
        b"x" * 100_000,
        b"",
    ],
)
async def test_a_server_of_something_else_is_an_error(answer: bytes) -> None:
    """Its answer is not a handshake (RFC 6455, section 4.1), and never grows beyond what a head may be."""
    with pytest.raises(ConnectionError) as error:
        await hello_of_raw(answer)

    assert not isinstance(error.value, NotUpgraded)


async def hello_of_raw(answer: bytes) -> None:
    """Connect to a server that gives this answer and hangs up."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        await hello_of(WebSocketClient(), URL(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/"))


async def test_a_handshake_that_is_given_up_leaves_no_connection() -> None:
    """The server sees its end although it never answered."""
    seen: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        seen.set_result(await reader.read())
        writer.close()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    url = URL(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await WebSocketClient().connect(url, Listener(), max_frame_bytes=1000)

    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await seen == b""
    server.close()
