"""What an honest client notices of attacks: the p99 of GET /tracks/{id} during each, beside the same without.

All of it is on loopback, bounded in number and in time. No request is refused for coming too often: an attack
does all that it can. Attackers share the cores of the machine with the worker.
"""

import asyncio
import contextlib
import functools
import http.client
import multiprocessing
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import Final

import aiohttp
from aiohttp import web

from indexer.catalog.published.snapshots import Snapshots
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.events import IdentityFact
from indexer.search.index import SearchIndex
from readapi.state.sign_in.linked_accounts import Account
from readapi.state.state import open_state
from schemas import data_folder
from schemas.ids import Handle, record_id
from schemas.settings import Settings
from tests import documents
from tests.bench import machine, stores
from tests.bench.rows import Row, rounded
from tests.indexer.changes import did, like, put, uri
from tests.network.media import tiny_packets
from tests.network.server import free_port
from tests.readapi.state.people import grant
from tests.readapi.state.publishing.made import upload

CALM: Final = "GET /tracks/{id}, p99 of one honest client"
WITHOUT: Final = "the same without"

_ATTACKER: Final = "127.0.0.2"
_PROXY: Final = "127.0.0.9"  # whoever asks from here may be any client
_ARTISTS: Final = 64


@dataclass(frozen=True, slots=True)
class Effort:
    """How much each attack does, and for how long the honest client asks meanwhile."""

    likes: int = 20_000
    connections: int = 64
    heads: int = 1_100
    seconds: float = 5.0
    media_bytes: int = 3 << 20


@dataclass(frozen=True, slots=True)
class Target:
    """The worker, and what an attacker has of it."""

    port: int
    effort: Effort
    session: str
    upload_id: str

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    @property
    def named(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.session}"}


Attack = Callable[[Target], Awaitable[None]]


def rows(effort: Effort, scratch: Path) -> Iterator[Row]:
    """The p99 without any attack; then with each, and the ratio."""
    folder, port, directory = scratch / "attacks", free_port(), free_port()
    settings = stores.settings_of(folder, public_url=stores.BASE_URL)
    session, upload_id = asyncio.run(_prepared(settings, effort))
    variables = {
        "FMSVC_DATA_DIR": str(folder),
        "FMSVC_PUBLIC_URL": stores.BASE_URL,
        "FMSVC_PORT": str(port),
        "FMSVC_PLC_URL": f"http://127.0.0.1:{directory}",
        "FMSVC_ALLOW_LOOPBACK": "true",
        "FMSVC_TRUSTED_PROXIES": _PROXY,
        "FMSVC_RATE_LIMIT": stores.NOBODY_IS_REFUSED,
        "FMSVC_UPLOAD_RATE_LIMIT": stores.NOBODY_IS_REFUSED,
    }
    core, _ = machine.cores()
    log = scratch / "attacks.log"
    target = Target(port, effort, session, upload_id)
    with (
        machine.program(["-m", "readapi", "api"], variables, core, log) as worker,
        multiprocessing.get_context("spawn").Pool(1) as honest,
    ):
        machine.until_answers(target.url("/health"), worker, log)
        asked = functools.partial(honest.apply, _asked, (port, effort.seconds))
        calm = asked()
        yield Row(CALM, rounded(calm), "ms")
        for name, attack in ATTACKS.items():
            attacked = asyncio.run(_during(attack, target, directory, asked))
            yield Row(f"{CALM}, during {name}", rounded(attacked), "ms", {WITHOUT: rounded(attacked / calm)})


def _asked(port: int, seconds: float) -> float:
    """The p99 of one track after another, in milliseconds; what is refused or breaks counts as a second."""
    waits, until = [], time.perf_counter() + seconds
    path = f"/tracks/{record_id(str(uri('mara', 'track', 1)))}"
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    while (begun := time.perf_counter()) < until or len(waits) < 2:
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            waits.append(time.perf_counter() - begun if answer.status == 200 else 1.0)
        except (OSError, http.client.HTTPException):
            connection.close()
            waits.append(max(1.0, time.perf_counter() - begun))
        time.sleep(0.002)
    connection.close()
    return quantiles(waits, n=100, method="inclusive")[98] * 1000


async def _during(attack: Attack, target: Target, directory: int, asked: Callable[[], float]) -> float:
    async with _servers(directory):
        attacking = asyncio.create_task(attack(target))
        await asyncio.sleep(1.0)
        try:
            return await asyncio.to_thread(asked)
        finally:
            attacking.cancel()
            await asyncio.gather(attacking, return_exceptions=True)


# What attackers own: accounts with likes and tracks, a directory that knows them, servers that trickle.


async def _prepared(settings: Settings, effort: Effort) -> tuple[str, str]:
    """An honest track, tracks at slow servers. Returns a session and its account's upload."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    blob = documents.blob(content=b"never comes")
    with Writer.open(settings) as writer:
        identities = [IdentityFact(did("eve"), Handle("eve.example"), "https://pds.example")]
        writer.write(Batch(changes=[put("mara", "track", 1, at=1)], identities=identities))
        writer.write(
            Batch(changes=[put(_artist(n), "track", 1, at=1, audioBlob=blob) for n in range(_ARTISTS)])
        )
        writer.write(Batch(changes=[put("eve", "profile", at=1, displayName="Eve")]))
        for first in range(0, effort.likes, 5_000):
            numbers = range(first, min(first + 5_000, effort.likes))
            likes = [like("eve", uri("nobody", "track", n), n, at=n + 2) for n in numbers]
            writer.write(Batch(changes=likes))
        index = SearchIndex.open(settings.data_dir / data_folder.SEARCH, settings.base_url)
        with writer.reader() as con:
            while index.follow(con) < writer.op:
                pass
        index.close()
        Snapshots(settings, writer).publish()
    async with open_state(settings) as state:
        granted = await state.grants.add(grant(did("eve")))
        session = await state.sessions.begin(Account(did("eve"), Handle("eve.example"), granted))
        waiting = await upload(state, 1, did("eve"))
    return session, waiting.id


def _artist(number: int) -> str:
    return f"artist {number}"


@asynccontextmanager
async def _servers(port: int) -> AsyncIterator[None]:
    """A directory; and on each of 64 networks a server that sends a byte now and then."""

    async def trickle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while not writer.is_closing():
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.5)

    slow = [await asyncio.start_server(trickle, f"127.0.{n + 10}.1", port) for n in range(_ARTISTS)]
    homes = {did(_artist(n)): f"http://127.0.{n + 10}.1:{port}" for n in range(_ARTISTS)}

    async def document(request: web.Request) -> web.Response:
        name = request.match_info["did"]
        home = {"id": "#atproto_pds", "type": "AtprotoPersonalDataServer", "serviceEndpoint": homes.get(name)}
        return web.json_response({"id": name, "alsoKnownAs": [], "service": [home]})

    app = web.Application()
    app.router.add_get("/{did}", document)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield
    finally:
        await runner.cleanup()
        for server in slow:
            server.close()


# The attacks. Each goes on until it is cancelled.


def _client(address: str) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(limit=0, local_addr=(address, 0))
    return aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=60))


async def _quiet(request: Awaitable[aiohttp.ClientResponse]) -> None:
    """Whatever comes of it."""
    with contextlib.suppress(aiohttp.ClientError, TimeoutError, ConnectionError):
        response = await request
        await response.read()


async def _many(count: int, work: Callable[[int], Awaitable[None]]) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(_again(work, number))


async def _again(work: Callable[[int], Awaitable[None]], number: int) -> None:
    while True:
        await work(number)
        await asyncio.sleep(0.01)


async def likes_of_nothing(target: Target) -> None:
    """Four connections ask for the likes of an account that likes only what does not exist."""
    asked = iter(range(1 << 60))
    async with _client(_ATTACKER) as client:
        await _many(
            4,
            lambda _: _quiet(client.get(target.url(f"/users/eve.example/likes?limit=1&n={next(asked)}"))),
        )


async def trickling_servers(target: Target) -> None:
    """As many clients as there are servers each ask for a recording that never comes."""

    async def hear(number: int) -> None:
        track = record_id(str(uri(_artist(number), "track", 1)))
        seen_as = {"X-Forwarded-For": f"192.0.2.{number}"}
        await _quiet(client.get(target.url(f"/tracks/{track}/stream"), headers=seen_as))

    async with _client(_PROXY) as client:
        await _many(_ARTISTS, hear)


async def half_sent_heads(target: Target) -> None:
    """One address opens connections, and never sends a whole head."""

    async def open_one(_: int) -> None:
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", target.port, local_addr=(_ATTACKER, 0)
            )
            try:
                writer.write(b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: ")
                await reader.read()
            finally:
                writer.transport.abort()
        await asyncio.sleep(1.0)

    await _many(target.effort.heads, open_one)


async def slow_bodies(target: Target) -> None:
    """Uploads of which a byte comes now and then."""

    async def body() -> AsyncIterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        while True:
            yield b"x"
            await asyncio.sleep(0.5)

    headers = {**target.named, "Content-Type": "multipart/form-data; boundary=x"}
    async with _client(_ATTACKER) as client:
        await _many(
            target.effort.connections,
            lambda _: _quiet(client.post(target.url("/tracks/"), data=body(), headers=headers)),
        )


async def hostile_media(target: Target) -> None:
    """Recordings of as many packets as fit, six at a time."""
    content = tiny_packets(target.effort.media_bytes // 500, spread=False)

    async def send(number: int) -> None:
        form = aiohttp.FormData()
        form.add_field("title", f"Hostile {number}")
        form.add_field("file", content, filename="a.ogg", content_type="audio/ogg")
        await _quiet(client.post(target.url("/tracks/"), data=form, headers=target.named))

    async with _client(_ATTACKER) as client:
        await _many(6, send)


async def watched_uploads(target: Target) -> None:
    """One account watches an upload over many connections."""
    path = f"/tracks/uploads/{target.upload_id}/progress"
    async with _client(_ATTACKER) as client:
        await _many(
            target.effort.connections, lambda _: _quiet(client.get(target.url(path), headers=target.named))
        )


ATTACKS: Final[dict[str, Attack]] = {
    "listings of likes of nothing": likes_of_nothing,
    "recordings whose servers trickle": trickling_servers,
    "half-sent heads": half_sent_heads,
    "slow bodies": slow_bodies,
    "media of tiny packets": hostile_media,
    "server-sent events": watched_uploads,
}


def main() -> None:
    """`python -m tests.bench.attacks`: these figures alone, in half a minute."""

    with tempfile.TemporaryDirectory() as scratch:
        for row in rows(Effort(likes=5_000, seconds=2.0), Path(scratch)):
            print(row.line(), flush=True)


if __name__ == "__main__":
    main()
