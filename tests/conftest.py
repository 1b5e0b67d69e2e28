"""What tests share: the real network on loopback, started once for the whole session."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.network.testnet import Addresses, Testnet, network


@pytest.fixture(scope="session")
def network_addresses() -> Iterator[Addresses]:
    """Where the session's PLC directory and PDS answer."""
    with network() as addresses:
        yield addresses


@pytest.fixture
async def net(network_addresses: Addresses) -> AsyncIterator[Testnet]:
    """The session's network; a test makes accounts of its own in it."""
    async with Testnet.connect(network_addresses) as testnet:
        yield testnet
