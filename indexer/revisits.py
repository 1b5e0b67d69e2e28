"""Identities that are old are asked for again: no event tells that a handle has lapsed, or holds at last."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Final

from indexer.intake import Intake
from indexer.judge import Judge
from indexer.repos import Repos
from indexer.stores import Stores

TURNS: Final = 1440  # over which the accounts are spread: a minute each for a day
LEAST_SECONDS: Final = 0.1


class Revisits:
    """Everybody's turn comes again when what is known of them is `age_seconds` old, or soon after."""

    def __init__(
        self, stores: Stores, judge: Judge, intake: Intake, repos: Repos, age_seconds: float
    ) -> None:
        self._stores = stores
        self._judge = judge
        self._intake = intake
        self._repos = repos
        self._age = timedelta(seconds=age_seconds)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(max(self._age.total_seconds() / TURNS, LEAST_SECONDS))
            # Twice as many as are due on average: whoever was met on one day is done in half a one.
            most = 1 + 2 * len(self._repos) // TURNS
            old = await self._stores.identities_before(datetime.now(UTC) - self._age, most)
            for did in old:
                self._judge.doubt_identity(did, self._intake.batch)
                self._intake.added(1)
