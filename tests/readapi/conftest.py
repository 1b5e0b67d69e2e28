"""What the API's tests share: a worker over a little music, the whole service, S3, an empty state."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from readapi.state.state import State, open_state
from schemas.settings import Settings
from tests.network.testnet import Network, Testnet
from tests.readapi.audio.bucket import running_s3
from tests.readapi.music import Music, playing
from tests.readapi.state.people import HandClock
from tests.readapi.studio import Studio, open_studio
from tests.sounds import named_song, other_song, song


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def music(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Music]:
    """A worker. Tests that use it share the module's event loop."""
    async with playing(tmp_path_factory.mktemp("music")) as served:
        yield served


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def studio(network: Network, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Studio]:
    """The whole service, with low limits. Tests that use it share the session's event loop."""
    limits = {
        "FMSVC_UPLOAD_BYTES": "8000000",
        "FMSVC_IMAGE_BYTES": "100000",
        "FMSVC_COMMENTS_PER_TRACK": "3",
        "FMSVC_UPLOADS_WAITING": "3",
        "FMSVC_JOBS_WAITING": "3",
    }
    async with (
        Testnet.connect(network) as net,
        open_studio(net, tmp_path_factory.mktemp("studio"), **limits) as opened,
    ):
        yield opened


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The session's S3 server."""
    with running_s3() as address:
        yield address


@pytest.fixture
def clock() -> HandClock:
    """Moves when it is moved."""
    return HandClock()


@pytest.fixture
async def state(state_settings: Settings, clock: HandClock) -> AsyncIterator[State]:
    """An empty state."""
    async with open_state(state_settings, clock) as opened:
        yield opened


__all__ = ["clock", "music", "named_song", "other_song", "s3", "song", "state", "studio"]
