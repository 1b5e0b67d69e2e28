"""Somebody who signed in, and what writes for them, in the test's own process."""

import dataclasses
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from readapi.commands.network import open_network
from readapi.index.indexer_client import IndexerNudges
from readapi.index.lookups import Index
from readapi.pds.repo import Pds
from readapi.pds.writing import Writing
from readapi.processes.account_services import AccountServices
from readapi.state.sign_in.sessions import Session
from readapi.state.state import State, open_state
from schemas.collections import Collections
from schemas.settings import Settings
from tests.network.pds import Account
from tests.network.person import Person
from tests.network.testnet import Network, Testnet
from tests.patience import PATIENCE_SECONDS
from tests.readapi.door import Door, following, opened

_numbers = itertools.count(1)


@dataclasses.dataclass(frozen=True, slots=True)
class Desk:
    """Where writing begins. Nothing is indexed, so nothing is ever shown."""

    net: Testnet
    door: Door
    state: State
    pds: Pds
    writing: Writing

    async def author(self, granting: str | None = None) -> tuple[Session, Account]:
        """Somebody new, with what they granted and their account."""
        account = await self.net.pds[0].create_account(f"author-{next(_numbers)}.test")
        session = await self.state.sessions.find(await self.door.sign_in(Person(account), granting))
        assert session is not None
        return session, account


@asynccontextmanager
async def desk(network: Network, folder: Path) -> AsyncIterator[Desk]:
    """Open a desk on the network."""
    base = Settings(data_dir=folder)
    async with Testnet.connect(network) as net, opened(net, base) as door:
        ours = following(net, base, public_url=door.address)
        async with (
            open_network(ours) as outside,
            open_state(ours) as state,
            AccountServices(ours, state, outside, None) as people,
        ):
            nudges = IndexerNudges(folder, Index(folder, ours.base_url), PATIENCE_SECONDS)
            writing = Writing(people.pds, nudges, Collections())
            yield Desk(net, door, state, people.pds, writing)
