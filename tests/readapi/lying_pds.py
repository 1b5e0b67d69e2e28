"""A person's own server that answers what it is told to, and somebody whose grant is for it."""

import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from aiohttp import web

from indexer.network.identity.dns import Dns
from readapi.oauth import keys
from readapi.oauth.grant import Grant
from readapi.pds.grants import Grants
from readapi.pds.repo import Pds
from readapi.pds.xrpc import Xrpc
from readapi.state.sign_in.grants import GrantId
from schemas.ids import Did
from tests.network.doubles import ALICE, Loopback
from tests.readapi.oauth import clients
from tests.readapi.state.people import grant
from tests.readapi.state.publishing.made import GRANT

Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]
HEAD = {"cid": "bafyreids2sehsntaax5f3ulh6stic6bpyzjf5lmwb5poeu3awya43ram4e", "rev": "3kaaaaaaaaa22"}


class LyingPds(Loopback):
    """`says`: by method, a body of JSON, or who answers; `asked`: the methods, in order."""

    def __init__(self) -> None:
        super().__init__(web.route("*", "/xrpc/{method}", self._answer))
        self.says: dict[str, object] = {
            "com.atproto.sync.getLatestCommit": HEAD,
            "com.atproto.server.describeServer": {},
        }
        self.asked: list[str] = []

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        self.asked.append(method)
        await request.read()
        said = self.says[method]
        if callable(said):
            return await cast(Answering, said)(request)
        return web.json_response(said)


@dataclass(frozen=True, slots=True)
class Writer:
    """Somebody who has an account there."""

    did: Did = ALICE
    grant_id: GrantId = GRANT


class _Held:
    def __init__(self, held: Grant) -> None:
        self._held = held

    async def fresh(self, _: GrantId, **__: Any) -> Grant:
        return self._held


@asynccontextmanager
async def lying_pds() -> AsyncIterator[tuple[LyingPds, Pds]]:
    """Such a server, and what speaks to it in their name."""
    async with LyingPds() as server, clients.connected(server.url, server.url, Dns()) as network:
        forever = grant(ALICE, datetime(9999, 1, 1, tzinfo=UTC))
        held = dataclasses.replace(forever, pds=server.url, dpop_key=keys.generate_key())
        yield server, Pds(Xrpc(cast(Grants, _Held(held)), clients.loopback(network)))
