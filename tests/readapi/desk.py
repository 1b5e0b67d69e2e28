"""Somebody who signed in, and what writes for them, in the test's own process."""

import dataclasses
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from readapi.commands.internet import open_network
from readapi.nudges import Nudges
from readapi.pds import Pds
from readapi.people import People
from readapi.search import Index
from readapi.state.sessions import Session
from readapi.state.state import State, open_state
from readapi.writing import Writing
from schemas.collections import Collections
from schemas.settings import Settings
from tests.network.pds import Account
from tests.network.person import Person
from tests.network.testnet import Network, Testnet
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
            People(ours, state, outside, None) as people,
        ):
            writing = Writing(people.pds, Nudges(folder, Index(folder)), Collections())
            yield Desk(net, door, state, people.pds, writing)
