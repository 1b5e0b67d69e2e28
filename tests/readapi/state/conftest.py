"""Each test of the state runs twice: on SQLite and on a real PostgreSQL."""

import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from readapi.state.state import State, open_state
from schemas.settings import Settings
from tests.postgres import new_database, running_postgres
from tests.readapi.state.people import HandClock


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The session's PostgreSQL server."""
    with running_postgres() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
async def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Of an empty state database of the test's own."""
    if request.param == "sqlite":
        return Settings(data_dir=tmp_path)
    url = await new_database(request.getfixturevalue("postgres"), uuid.uuid4().hex)
    return Settings(data_dir=tmp_path, state_url=url)


@pytest.fixture
def clock() -> HandClock:
    """Moves when it is moved."""
    return HandClock()


@pytest.fixture
async def state(settings: Settings, clock: HandClock) -> AsyncIterator[State]:
    """An empty state."""
    async with open_state(settings, clock) as opened:
        yield opened
