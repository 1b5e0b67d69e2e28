"""What tests of publishing share: the whole service, and a little sound."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.network.testnet import Network, Testnet
from tests.readapi.audio.sounds import sound
from tests.readapi.publishing.studio import Studio, open_studio


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def studio(network: Network, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Studio]:
    """Tests that use it share the package's event loop. Files of 8 MB at most are taken."""
    limits = {"FMSVC_UPLOAD_BYTES": "8000000", "FMSVC_IMAGE_BYTES": "100000"}
    async with (
        Testnet.connect(network) as net,
        open_studio(net, tmp_path_factory.mktemp("studio"), **limits) as opened,
    ):
        yield opened


@pytest.fixture(scope="session")
def song(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds of sound that say nothing of themselves."""
    return sound(tmp_path_factory.mktemp("song") / "song.flac", "flac", 2.0)


@pytest.fixture(scope="session")
def other_song(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three seconds, of another kind."""
    return sound(tmp_path_factory.mktemp("song") / "other.mp3", "mp3", 3.0)


@pytest.fixture(scope="session")
def named_song(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that says what it is."""
    tags = {"title": "Low tide", "album": "Harbour"}
    return sound(tmp_path_factory.mktemp("song") / "named.mp3", "mp3", 1.0, tags)
