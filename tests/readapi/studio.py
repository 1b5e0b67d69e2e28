"""The whole service on the real network, and people who are signed in to it."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from schemas.collections import Collections
from schemas.settings import Settings
from tests.network import server
from tests.network.pds import Account, Json, Ref, XrpcError
from tests.network.person import Person
from tests.network.testnet import Network, Testnet
from tests.readapi.door import Door
from tests.readapi.music import UNLIMITED, Reply

COLLECTIONS = Collections()
MADE = "2026-01-02T03:04:05.000Z"
PATIENCE_SECONDS = 60.0

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Artist:
    """Somebody with an account, and a session of theirs."""

    account: Account
    session: str = field(repr=False)
    door: Door = field(repr=False)

    @property
    def did(self) -> str:
        return self.account.did

    async def ask(self, method: str, path: str, sent: Any = None, **headers: str) -> Reply:
        """One request in their name."""
        return await self.door.ask(method, path, sent, self.session, **headers)

    async def send_form(self, method: str, path: str, **members: str | bytes) -> Reply:
        """One form with parts; bytes are files."""
        form = aiohttp.FormData()
        for name, member in members.items():
            form.add_field(name, member, filename="cover" if isinstance(member, bytes) else None)
        named = {"Authorization": f"Bearer {self.session}"}
        url = self.door.address + path
        async with self.door.client.request(method, url, data=form, headers=named) as answer:
            return Reply(answer.status, answer.headers, await answer.json())

    async def holds(self, collection: str, rkey: str) -> Json | None:
        """What their own server holds under a key."""
        asked = {"repo": self.did, "collection": collection, "rkey": rkey}
        try:
            value: Json = (await self.account.pds.get("com.atproto.repo.getRecord", **asked))["value"]
        except XrpcError:
            return None
        return value

    async def records(self, collection: str) -> list[Json]:
        """All that their own server holds of a kind, the oldest first."""
        asked = {"repo": self.did, "collection": collection, "reverse": "true"}
        listed = await self.account.pds.get("com.atproto.repo.listRecords", **asked)
        return [record["value"] for record in listed["records"]]


@dataclass(slots=True)
class Studio:
    """A service that follows the network."""

    net: Testnet
    door: Door
    settings: Settings

    async def artist(self, granting: str | None = None) -> Artist:
        """Somebody new who signed in, and granted what was asked for or less."""
        account = await self.net.pds[0].create_account(f"artist-{next(_numbers)}.test")
        return Artist(account, await self.door.sign_in(Person(account), granting), self.door)

    async def track(self, artist: Artist, title: str = "Song", **fields: Any) -> tuple[int, Ref]:
        """A track of theirs that another program wrote, once it is shown; its id and record."""
        required = {"title": title, "artist": "An Artist", "fileType": "mp3", "createdAt": MADE}
        ref = await artist.account.create_record(COLLECTIONS.track, required | fields)
        shown = await self.shows(artist, f"/tracks/by-uri?uri={ref.uri}", lambda reply: reply.status == 200)
        return shown.json["id"], ref

    async def shows(self, artist: Artist, path: str, holds: Callable[[Reply], bool]) -> Reply:
        """Ask until the answer is such."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                if holds(reply := await artist.ask("GET", path)):
                    return reply
                await asyncio.sleep(0.02)


@asynccontextmanager
async def studio(network: Network, data_dir: Path, **settings: str) -> AsyncIterator[Studio]:
    """Start the service, and wait until it is ready."""
    port = server.free_port()
    limits = {f"FMSVC_{name.upper()}": value for name, value in UNLIMITED.items()}
    async with Testnet.connect(network) as net:
        variables = {**server.settings(net, data_dir, port), **limits, "FMSVC_LOG_LEVEL": "error", **settings}
        jar = aiohttp.DummyCookieJar()
        async with (
            server.running_server(variables) as running,
            aiohttp.ClientSession(cookie_jar=jar) as client,
        ):
            await _ready(running)
            yield Studio(net, Door(running.url, client), Settings(data_dir=data_dir))


async def _ready(running: server.Server) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            status, _ = await running.ask("/ready")
            if status == 200:
                return
            await asyncio.sleep(0.05)
