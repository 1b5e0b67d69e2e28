"""What tests share: real networks on loopback, one for the whole session and one for a module."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.network.testnet import Network, Testnet, running_network


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long begins first, so that no process is left alone with it at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="session")
def network() -> Iterator[Network]:
    """The session's PLC directory and PDS."""
    with running_network() as started:
        yield started


@pytest.fixture(scope="module")
def wide_network() -> Iterator[Network]:
    """The module's own network: two PDSes that pass on at once what is written to them."""
    with running_network(pdses=2, idle_ms=8) as started:
        yield started


@pytest.fixture
async def net(network: Network) -> AsyncIterator[Testnet]:
    """The session's network; a test makes accounts of its own in it."""
    async with Testnet.connect(network) as testnet:
        yield testnet
