"""Fixtures of the indexer's tests: an empty catalogue, an empty forged network, and settings."""

import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from indexer.catalog.writing.writer import Writer
from schemas.settings import Settings
from tests.indexer import empty_catalogues
from tests.indexer.changes import settings
from tests.network.certificate import tls_contexts
from tests.network.forged_network import ForgedNetwork


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    """An empty catalogue in the test's folder."""
    empty_catalogues.begin(tmp_path)
    opened = Writer.open(settings(tmp_path))
    yield opened
    opened.close()


@pytest.fixture
async def forged_network() -> AsyncIterator[ForgedNetwork]:
    """A directory and a PDS on loopback, which host no repo yet."""
    async with ForgedNetwork() as network:
        yield network


@pytest.fixture
def indexer_settings(tmp_path: Path, forged_network: ForgedNetwork) -> Settings:
    """Settings of an indexer in the test's folder that asks the forged network. Tests add a relay."""
    return Settings(
        data_dir=tmp_path,
        plc_url=forged_network.url,
        handle_resolver=forged_network.url,
        allow_loopback=True,
        batch_seconds=0.02,
        snapshot_seconds=60,
        parquet_seconds=0,
    )


@pytest.fixture
def impatient_settings(indexer_settings: Settings) -> Settings:
    """The same, but what fails or drifts is looked at again within a tenth of a second."""
    return indexer_settings.model_copy(update={"retry_seconds": 0.05, "drift_seconds": 0.1})


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's and a client's context that trust each other for HANDLE."""
    return tls_contexts(tmp_path_factory.mktemp("tls"))
