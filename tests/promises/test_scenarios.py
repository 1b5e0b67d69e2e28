"""Whatever happens to the network, the catalogue ends as what the servers list, record by record."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.network.testnet import Network
from tests.promises.scenarios import ALL, Scenario
from tests.promises.scenarios.world import World, world

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(wide_network: Network, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """One relay, one indexer and one API for all scenarios."""
    async with world(wide_network, tmp_path_factory.mktemp("scenarios") / "data") as running:
        yield running


@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.__name__)
async def test_scenario(shared: World, scenario: Scenario) -> None:
    """What it is about says the scenario itself."""
    await shared.begin()
    await scenario(shared)

    await shared.agrees()


async def test_all_that_was_shown_is_shown_still(shared: World) -> None:
    """After all of it, everything is compared once more."""
    await shared.agrees(thorough=True)


async def test_an_audit_finds_that_all_is_well(shared: World) -> None:
    """Also of those who moved or are away: what agrees is not called drift."""
    outcomes = await shared.indexer.audit()

    assert outcomes["same"] > 0
    assert not outcomes.keys() & {"drifted", "gone"}
