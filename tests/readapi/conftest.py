"""What the API's tests share: a worker over a little music, and a state database of each kind."""

import itertools
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from readapi.state.state import State, open_state
from schemas.settings import Settings
from tests.network.person import Person
from tests.network.testnet import Testnet
from tests.postgres import new_database, running_postgres
from tests.readapi.door import Door, opened
from tests.readapi.music import Music, playing
from tests.readapi.state.people import HandClock

NUMBERS = itertools.count()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def music(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Music]:
    """A worker. Tests that use it share the module's event loop."""
    async with playing(tmp_path_factory.mktemp("music")) as served:
        yield served


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The session's PostgreSQL server."""
    with running_postgres() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
async def state_settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Of an empty state database, so that each test of the state runs on SQLite and on PostgreSQL."""
    if request.param == "sqlite":
        return Settings(data_dir=tmp_path)
    url = await new_database(request.getfixturevalue("postgres"), uuid.uuid4().hex)
    return Settings(data_dir=tmp_path, state_url=url)


@pytest.fixture
async def door(net: Testnet, state_settings: Settings) -> AsyncIterator[Door]:
    """A worker to sign in to, on each kind of state database."""
    async with opened(net, state_settings) as opened_door:
        yield opened_door


@pytest.fixture
async def person(net: Testnet) -> Person:
    """Somebody new, with a browser of their own."""
    return Person(await net.pds[0].create_account(f"signer-{next(NUMBERS)}.test"))


@pytest.fixture
def clock() -> HandClock:
    """Moves when it is moved."""
    return HandClock()


@pytest.fixture
async def state(state_settings: Settings, clock: HandClock) -> AsyncIterator[State]:
    """An empty state."""
    async with open_state(state_settings, clock) as opened:
        yield opened
