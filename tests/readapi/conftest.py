"""What the API's tests share: a worker over a little music, and an empty state."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from readapi.state.state import State, open_state
from schemas.settings import Settings
from tests.readapi.music import Music, playing
from tests.readapi.state.people import HandClock


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def music(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Music]:
    """A worker. Tests that use it share the module's event loop."""
    async with playing(tmp_path_factory.mktemp("music")) as served:
        yield served


@pytest.fixture
def clock() -> HandClock:
    """Moves when it is moved."""
    return HandClock()


@pytest.fixture
async def state(state_settings: Settings, clock: HandClock) -> AsyncIterator[State]:
    """An empty state."""
    async with open_state(state_settings, clock) as opened:
        yield opened
