"""A scripted PDS with an account whose grant is for it, and the client that speaks to it with that grant."""

import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from indexer.network.identity.dns import Dns
from readapi.oauth import keys
from readapi.oauth.grant import Grant
from readapi.pds.grants import Grants
from readapi.pds.repo import Pds
from readapi.pds.xrpc import Xrpc
from readapi.state.sign_in.grants import GrantId
from schemas.ids import Did
from tests.network.doubles import ALICE
from tests.network.scripted_pds import ScriptedPds
from tests.readapi.oauth import clients
from tests.readapi.state.people import grant
from tests.readapi.state.publishing.made import GRANT

HEAD = {"cid": "bafyreids2sehsntaax5f3ulh6stic6bpyzjf5lmwb5poeu3awya43ram4e", "rev": "3kaaaaaaaaa22"}


@dataclass(frozen=True, slots=True)
class Writer:
    """An account of that server, as authors of records are named."""

    did: Did = ALICE
    grant_id: GrantId = GRANT


class _Held:
    def __init__(self, held: Grant) -> None:
        self._held = held

    async def fresh(self, _: GrantId, **__: Any) -> Grant:
        return self._held


@asynccontextmanager
async def scripted_pds() -> AsyncIterator[tuple[ScriptedPds, Pds]]:
    """A server that answers what every request needs, and its client."""
    answers: dict[str, object] = {
        "com.atproto.sync.getLatestCommit": HEAD,
        "com.atproto.server.describeServer": {},
    }
    async with ScriptedPds(answers) as server, clients.connected(server.url, server.url, Dns()) as network:
        forever = grant(ALICE, datetime(9999, 1, 1, tzinfo=UTC))
        held = dataclasses.replace(forever, pds=server.url, dpop_key=keys.generate_key())
        yield server, Pds(Xrpc(cast(Grants, _Held(held)), clients.loopback(network)))
