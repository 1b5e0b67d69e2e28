"""Resolves old identities again: no event reports that a handle became invalid, or valid at last."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Final

from indexer.catalog.writing.intake import Intake
from indexer.stores import Stores
from indexer.sync.apply_event import EventApplier
from indexer.sync.states import Repos

TURNS: Final = 1440  # the accounts are spread over so many turns: one a minute for a day
LEAST_SECONDS: Final = 0.1


class IdentityRefresh:
    """Queues every identity to be resolved when it is `age_seconds` old, or soon after."""

    def __init__(
        self, stores: Stores, applier: EventApplier, intake: Intake, repos: Repos, age_seconds: float
    ) -> None:
        self._stores = stores
        self._applier = applier
        self._intake = intake
        self._repos = repos
        self._age = timedelta(seconds=age_seconds)

    async def run(self) -> None:
        """Take turn after turn until cancelled."""
        while True:
            await asyncio.sleep(max(self._age.total_seconds() / TURNS, LEAST_SECONDS))
            # Twice the average number due: accounts that were all first seen on one day take half a day.
            most = 1 + 2 * len(self._repos) // TURNS
            old = await self._stores.identities_before(datetime.now(UTC) - self._age, most)
            for did in old:
                self._applier.doubt_identity(did, self._intake.batch)
                self._intake.added(1)
