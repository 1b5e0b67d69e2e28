"""Follows the play counts of tracks, which the API keeps in the state database.

The position is not stored: counts are totals, so that reading one twice does no harm, and a new or rebuilt
index begins by reading all.
"""

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from schemas.play_counts import Counts, PlayCountTable
from schemas.settings import Settings
from schemas.state_reader import Away

log = structlog.get_logger()

LOOK_SECONDS: Final = 0.5
LATE: Final = timedelta(seconds=60)  # a count is dated when its transaction begins, and visible when it ends


class PlayCounts:
    """Yields the play counts of all tracks first, then those that change."""

    def __init__(self, settings: Settings) -> None:
        self._table = PlayCountTable(settings)
        self._yielded: Counts = {}

    async def changes(self) -> AsyncGenerator[Counts]:
        """Yield counts as they change, for ever."""
        try:
            async for counts in self._changes():
                yield counts
        finally:
            await self._table.close()

    async def _changes(self) -> AsyncGenerator[Counts]:
        since: datetime | None = None
        while True:
            try:
                now = datetime.now(UTC) - LATE
                if since is None:
                    async for counts in self._all():
                        yield counts
                elif changed := await self._since(since):
                    yield changed
                since = now
            except Away as error:
                log.debug("plays not read", reason=str(error))
            await asyncio.sleep(LOOK_SECONDS)

    async def _all(self) -> AsyncGenerator[Counts]:
        last = ""
        while counts := await self._table.after(last):
            yield counts
            last = list(counts)[-1]  # in the order of the database, whose collation may differ from Python's

    async def _since(self, instant: datetime) -> Counts:
        """Counts that changed since an instant, without those that were yielded the last time."""
        found = await self._table.since(instant)
        changed = {uri: plays for uri, plays in found.items() if self._yielded.get(uri) != plays}
        self._yielded = found
        return changed
