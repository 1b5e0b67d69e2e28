"""A worker that people can sign in to at a real PDS, and programs and browsers in front of it."""

import dataclasses
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from readapi.pds.refresh import lock_of
from readapi.state.state import State
from schemas.settings import Settings
from tests.network.person import Person
from tests.network.testnet import Testnet
from tests.readapi.music import UNLIMITED, Reply
from tests.readapi.serving import serving

TOLD = {"Accept": "application/json"}


@dataclass(frozen=True, slots=True)
class Door:
    """What is asked of a service by whoever signs in."""

    address: str
    client: aiohttp.ClientSession = field(repr=False)

    async def ask(
        self, method: str, path: str, sent: Any = None, session: str | None = None, **headers: str
    ) -> Reply:
        """One request; `session`: a session id or a developer token, as a bearer token."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if session is not None:
            named["Authorization"] = f"Bearer {session}"
        url = URL(self.address + path, encoded=True)
        async with self.client.request(
            method, url, json=sent, headers=named, allow_redirects=False
        ) as answer:
            is_json = answer.content_type == "application/json"
            body = await answer.json() if is_json else await answer.text(errors="replace")
            return Reply(answer.status, answer.headers, body)

    async def start(self, person: Person) -> str:
        """The page of their server that they are to visit."""
        path = f"/auth/start?{urlencode({'handle': person.account.handle})}"
        reply = await self.ask("POST", path, **TOLD)
        assert reply.status == 200, reply.json
        return str(reply.json["auth_url"])

    async def come_back(self, back: Mapping[str, str]) -> Reply:
        """The browser brings this to the callback."""
        return await self.ask("GET", f"/auth/callback?{urlencode(back)}", **TOLD)

    async def arrive(self, person: Person, page: str, granting: str | None = None) -> str:
        """They agree, and return with an exchange token."""
        reply = await self.come_back(await person.agree(page, granting))
        assert reply.status == 200, reply.json
        return str(reply.json["exchange_token"])

    async def exchange(self, token: str, session: str | None = None) -> Reply:
        """Change an exchange token."""
        return await self.ask("POST", "/auth/exchange", {"exchange_token": token}, session)

    async def sign_in(self, person: Person, granting: str | None = None) -> str:
        """All of it; returns the session id."""
        reply = await self.exchange(await self.arrive(person, await self.start(person), granting))
        assert reply.status == 200, reply.json
        return str(reply.json["session_id"])

    async def make_token(self, person: Person, session: str, name: str = "radio", **more: int) -> str:
        """A developer token, from its form to the moment that it is shown."""
        started = await self.ask("POST", "/auth/developer-token/start", {"name": name, **more}, session)
        assert started.status == 200, started.json
        reply = await self.exchange(await self.arrive(person, started.json["auth_url"]), session)
        assert reply.status == 200, reply.json
        return str(reply.json["token"])

    async def me(self, session: str) -> Reply:
        return await self.ask("GET", "/auth/me", session=session)


def following(net: Testnet, settings: Settings, **more: Any) -> Settings:
    """The same settings, for people of this network."""
    network = {"plc_url": net.plc_url, "handle_resolver": net.pds[0].url, "allow_loopback": True}
    return settings.model_copy(update={**UNLIMITED, "log_level": "error", **network, **more})


@asynccontextmanager
async def opened(net: Testnet, settings: Settings, **more: Any) -> AsyncIterator[Door]:
    """A worker with nothing in its index."""
    sock = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{sock.getsockname()[1]}"
    ours = following(net, settings, public_url=address, **more)
    jar = aiohttp.DummyCookieJar()
    async with serving(ours, sock), aiohttp.ClientSession(cookie_jar=jar) as client:
        yield Door(address, client)


async def expire(state: State, session: str) -> int:
    """Let the access token behind a session have expired; returns the version of its grant."""
    found = await state.sessions.find(session)
    assert found is not None
    async with state.locks.holding(lock_of(found.grant_id)):
        held = await state.grants.find(found.grant_id)
        assert held is not None
        assert held.grant is not None
        tokens = dataclasses.replace(held.grant.tokens, expires_at=datetime.now(UTC))
        assert await state.grants.replace_tokens(held, tokens)
    return held.version + 1
