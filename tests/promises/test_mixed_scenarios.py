"""Whatever happens to the network in whatever order, the catalogue ends as what the servers list.

SCENARIO_RUNS sets how many mixtures are tried (4; make test-long 60), SEED repeats a series.
"""

import os
import random
from pathlib import Path

import pytest

from tests.network.testnet import Network
from tests.patience import PATIENCE_SECONDS
from tests.promises.scenarios.mixture import Mixture
from tests.promises.scenarios.world import world

pytestmark = [pytest.mark.network, pytest.mark.slow]

RUNS = int(os.environ.get("SCENARIO_RUNS", "4"))
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))


@pytest.mark.timeout(4 * PATIENCE_SECONDS + 30 * RUNS)
async def test_any_mixture_ends_in_agreement(wide_network: Network, tmp_path: Path) -> None:
    """A run is a handful of deeds and faults, kill -9 among them; then the oracle is asked."""
    print(f"SEED={SEED}")
    async with world(wide_network, tmp_path / "data") as running:
        mixture = Mixture(running, random.Random(SEED))
        for number in range(RUNS):
            try:
                await mixture.run()
                await running.agrees(thorough=number == RUNS - 1)
            except Exception as error:
                told = f"SEED={SEED}, run {number} of {RUNS}: {'; '.join(mixture.told)}"
                raise AssertionError(f"{told}\n{type(error).__name__}: {error}") from error
