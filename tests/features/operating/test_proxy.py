"""The configurations of nginx and Caddy do what docs/proxy.md says, in front of a real worker's server."""

import asyncio
import os
import shutil
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from readapi.answers import EVENT_STREAM, Answer, render_json
from readapi.audio.sending import Sending
from readapi.audio.source import AudioSource, OpenFile
from readapi.audio.store import AudioStore
from readapi.audio.under_way import UnderWay
from readapi.http.endpoint import Routes
from readapi.http.limits.clients import Client
from readapi.http.request.headers import Conditions
from readapi.http.request.request import Request
from readapi.index.takedowns import StandingTakedowns
from readapi.publishing.uploads.progress import Events
from schemas.settings import Settings
from tests.network.server import free_port
from tests.patience import PATIENCE_SECONDS
from tests.readapi.site import running

DEPLOY = Path(__file__).parents[3] / "deploy"
NAME = "music.example.com"
SOUND = bytes(range(256)) * 4096

routes = Routes("test")
signals: list[asyncio.Event] = []  # of the test that runs: it is of that one's loop


@routes.get("/who")
async def who(client: Client) -> Answer[str]:
    """Tell the client who it is."""
    return Answer(render_json(str(client)))


@routes.get("/sound", media_types=("audio/*",))
async def sound(asked: Conditions, settings: Settings) -> web.StreamResponse:
    """Send a recording."""
    path = settings.data_dir / "sound"
    path.write_bytes(SOUND)
    store = AudioStore.of(settings)
    file, under_way = OpenFile(path), UnderWay(StandingTakedowns())
    source = AudioSource("sound", len(SOUND), "audio/mpeg", '"1"', file, store, (), under_way)
    return Sending(source, asked, {})


@routes.get("/events", acts=True, media_types=(EVENT_STREAM,))
async def events() -> web.StreamResponse:
    """Tell one thing, and another one when it is time."""

    async def told() -> AsyncIterator[bytes]:
        yield b"data: 1\n\n"
        await signals[-1].wait()
        yield b"data: 2\n\n"

    return Events(told(), lambda: None)


class Echo(web.WebSocketResponse):
    """Sends each text back."""

    async def write_eof(self) -> None:  # type: ignore[override]
        async for message in self:
            await self.send_str(message.data)


@routes.get("/socket", acts=True, endless=True, media_types=(EVENT_STREAM,))
async def socket() -> web.StreamResponse:
    """Answer on a WebSocket."""
    return Echo()


@routes.get("/rest/cut", acts=True)
async def cut(request: Request) -> Answer[str]:
    """Close the connection in place of an answer."""
    assert request.transport is not None
    request.transport.abort()
    return Answer(b"{}")


@dataclass(frozen=True, slots=True)
class Proxied:
    """Where the proxy listens and logs, and a client that trusts it."""

    port: int
    client: aiohttp.ClientSession
    folder: Path

    def url(self, path: str) -> str:
        return f"https://localhost:{self.port}{path}"


def certificate(folder: Path) -> None:
    """A key, and what it signed for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / f"{NAME}.key").write_bytes(key.private_bytes(*pem))
    (folder / f"{NAME}.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))


def replaced(text: str, here: Mapping[str, str]) -> str:
    """The documented configuration with other addresses."""
    for documented, other in here.items():
        assert documented in text
        text = text.replace(documented, other)
    return text


def nginx(folder: Path, port: int, behind: str) -> tuple[Path, list[str]]:
    """Its configuration, with a second for a head instead of ten, and how it is started."""
    here = {
        "    listen [::]:443 ssl;\n": "",
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "127.0.0.1:8000": behind,
        "/etc/ssl/": f"{folder}/",
        "client_header_timeout 10s": "client_header_timeout 1s",
        "/var/log/nginx/": f"{folder}/",
    }
    text = replaced((DEPLOY / "nginx.conf").read_text(), here)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    user = "user root;\n" if os.geteuid() == 0 else ""
    path = folder / "nginx.conf"
    path.write_text(
        f"{user}daemon off;\npid {folder}/pid;\nerror_log {folder}/error.log;\n"
        f"events {{}}\nhttp {{\naccess_log {folder}/access.log;\n{temporary}{text}}}\n"
    )
    return path, ["-c", str(path), "-e", f"{folder}/error.log"]


def caddy(folder: Path, port: int, behind: str) -> tuple[Path, list[str]]:
    """The same of Caddy, with a certificate of ours and without its own port."""
    here = {
        "\tservers {": "\tadmin off\n\tauto_https disable_redirects\n\tservers {",
        f"{NAME} {{\n\trequest": (
            f"https://localhost:{port} {{\n\tbind 127.0.0.1\n"
            f"\ttls {folder}/{NAME}.pem {folder}/{NAME}.key\n\trequest"
        ),
        "127.0.0.1:8000": behind,
        "read_header 10s": "read_header 1s",
    }
    path = folder / "Caddyfile"
    path.write_text(replaced((DEPLOY / "Caddyfile").read_text(), here))
    return path, ["run", "--config", str(path), "--adapter", "caddyfile"]


def program(name: str) -> str:
    """CI must have it; elsewhere tests without it are skipped."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None:
        tell = pytest.fail if os.environ.get("CI") else pytest.skip
        tell(f"no {name} is installed")
    return found


@pytest.fixture(params=[nginx, caddy])
async def proxied(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Proxied]:
    """The service behind one of them."""
    settings = Settings(data_dir=tmp_path, trusted_proxies=("127.0.0.1",))
    configure, started = request.param, program(request.param.__name__)
    port, log = free_port(), tmp_path / "error.log"
    certificate(tmp_path)
    context = ssl.create_default_context(cafile=str(tmp_path / f"{NAME}.pem"))
    async with running(routes, {Settings: settings}, settings) as site:
        _, arguments = configure(tmp_path, port, site.address.removeprefix("http://"))
        with log.open("ab") as said:
            process = await asyncio.create_subprocess_exec(
                started, *arguments, stderr=said, env={**os.environ, "XDG_DATA_HOME": str(tmp_path)}
            )
        connector = aiohttp.TCPConnector(ssl=context)
        try:
            async with aiohttp.ClientSession(connector=connector) as client:
                proxied = Proxied(port, client, tmp_path)
                await listens(proxied, process, log)
                yield proxied
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


async def listens(proxied: Proxied, process: asyncio.subprocess.Process, log: Path) -> None:
    """Wait for the proxy."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            assert process.returncode is None, log.read_text()
            try:
                async with proxied.client.get(proxied.url("/who")):
                    return
            except aiohttp.ClientConnectionError:
                await asyncio.sleep(0.05)


async def test_the_service_behind_a_proxy(proxied: Proxied) -> None:
    """Who asks is told by the proxy, not by the client; ranges are exact, and large bodies come through."""
    client, url = proxied.client, proxied.url
    forged = {"X-Forwarded-For": "192.0.2.1, 127.0.0.1"}

    async with client.get(url("/who"), headers=forged) as answer:
        assert (answer.status, await answer.json()) == (200, "127.0.0.1")
    async with client.get(url("/sound"), headers={"Range": "bytes=1000-1999"}) as answer:
        assert (answer.status, answer.headers["Content-Range"]) == (206, f"bytes 1000-1999/{len(SOUND)}")
        assert await answer.read() == SOUND[1000:2000]
    async with client.get(url("/sound")) as answer:
        assert await answer.read() == SOUND
    async with client.post(url("/who"), data=BytesIO(b"x" * (4 << 20))) as answer:
        assert answer.status == 405


async def test_events_come_through_as_they_happen(proxied: Proxied) -> None:
    signals.append(go_on := asyncio.Event())
    async with proxied.client.get(proxied.url("/events")) as answer, asyncio.timeout(PATIENCE_SECONDS):
        first = await answer.content.readuntil(b"\n\n")
        go_on.set()
        rest = await answer.content.read()

    assert (first, rest) == (b"data: 1\n\n", b"data: 2\n\n")


async def test_a_websocket_comes_through(proxied: Proxied) -> None:
    """As the live feed's clients open it; plain requests go on beside it."""
    async with asyncio.timeout(PATIENCE_SECONDS), proxied.client.ws_connect(proxied.url("/socket")) as socket:
        told = []
        for text in ("one", "two"):
            await socket.send_str(text)
            told.append(await socket.receive_str())
            async with proxied.client.get(proxied.url("/who")) as answer:
                assert answer.status == 200

    assert told == ["one", "two"]


async def test_no_log_of_a_proxy_has_an_api_key(proxied: Proxied) -> None:
    """Players send them in addresses. Not even when the service fails, which proxies log with the address."""
    for path in ("/rest/cut", "/rest/nothing"):
        async with proxied.client.get(proxied.url(f"{path}?apiKey=fmsvc_secret&id=1")) as answer:
            assert answer.status in (404, 502)

    logs = b"".join(log.read_bytes() for log in proxied.folder.glob("*.log"))
    assert b"secret" not in logs


async def test_slow_heads_end_at_the_proxy(proxied: Proxied) -> None:
    """A trickle gains no time."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", proxied.port, ssl=context, server_hostname="localhost"
    )
    writer.write(b"GET /who HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")

    async def trickle() -> None:
        while not writer.is_closing():
            writer.write(b"x")
            await asyncio.sleep(0.1)

    trickling = asyncio.create_task(trickle())
    async with asyncio.timeout(PATIENCE_SECONDS):
        said = await reader.read()
    trickling.cancel()
    writer.close()

    assert b" 200 " not in said
