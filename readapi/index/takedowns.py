"""The operator's takedowns as a worker knows them: every decision, by any process, within half a second.

The indexer hides the same subjects in its own time; until then, or while it is away, look-ups leave them out.
"""

from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final

import structlog

from readapi.metrics import Metrics
from schemas.settings import Settings
from schemas.state_reader import Away
from schemas.takedowns import Takedowns, TakedownTable, open_table

UNREAD: Final = -1  # before the first reading

log = structlog.get_logger()


class StandingTakedowns:
    """What stands now. While the state database is away, what stood before goes on standing."""

    def __init__(self) -> None:
        self.now = Takedowns()
        self.number = UNREAD  # of the last decision that was read
        self.unread = 0  # times that the log could not be read
        self._table: TakedownTable | None = None
        self._stack = AsyncExitStack()
        self._listeners: list[Callable[[Takedowns], object]] = []

    def on_change(self, listener: Callable[[Takedowns], object]) -> None:
        """Call a function with what stands, after each change."""
        self._listeners.append(listener)

    async def open(self, settings: Settings) -> None:
        """Read what stands. Raises Away, since without it nothing may be served."""
        self._table = await self._stack.enter_async_context(open_table(settings))
        await self._read(self._table)

    async def refresh(self) -> None:
        """Read what stands if a decision was added."""
        assert self._table is not None, "not open"
        try:
            await self._read(self._table)
        except Away as error:
            self.unread += 1
            log.warning("takedowns not read", standing=self.number, reason=str(error)[:200])

    async def close(self) -> None:
        """Close the connection."""
        await self._stack.aclose()

    def watch(self, metrics: Metrics) -> None:
        """Register the counts as metrics."""
        metrics.watch("fmsvc_takedowns", "Subjects that are taken down.", lambda: len(self.now))
        metrics.tally(
            "fmsvc_takedowns_unread", "Times the log of takedowns was not read.", lambda: self.unread
        )

    async def _read(self, table: TakedownTable) -> None:
        number = await table.newest()
        if number == self.number:
            return
        self.now = Takedowns(await table.standing())
        self.number = number
        for listener in self._listeners:
            listener(self.now)
