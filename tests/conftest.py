"""What tests share: the real network on loopback, started once for the whole session."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.network.testnet import Network, Testnet, running_network


@pytest.fixture(scope="session")
def network() -> Iterator[Network]:
    """The session's PLC directory and PDS."""
    with running_network() as started:
        yield started


@pytest.fixture(scope="session")
def wide_network() -> Iterator[Network]:
    """The session's other network: two PDSes that pass on at once what is written to them."""
    with running_network(pdses=2, idle_ms=8) as started:
        yield started


@pytest.fixture
async def net(network: Network) -> AsyncIterator[Testnet]:
    """The session's network; a test makes accounts of its own in it."""
    async with Testnet.connect(network) as testnet:
        yield testnet
