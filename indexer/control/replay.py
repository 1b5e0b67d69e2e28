"""Replays dead letters: a later version of this program may be able to use them."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from indexer.catalog.tables import dead_letters
from indexer.catalog.tables.dead_letters import DeadLetter, LetterFilter
from indexer.catalog.writing.intake import Intake
from indexer.pipeline import Pipeline
from indexer.stores import Stores

BEGINNING: Final = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ReplayProgress:
    """Of `total` letters `tried` were replayed; `passed` of them were used, and are dead letters no more."""

    tried: int
    passed: int
    total: int


class Replay:
    """Processes letters like frames of the stream, without moving its cursor."""

    def __init__(self, stores: Stores, pipeline: Pipeline, intake: Intake) -> None:
        self._stores = stores
        self._pipeline = pipeline
        self._intake = intake

    async def run(self, wanted: LetterFilter) -> AsyncIterator[ReplayProgress]:
        """Replay all letters that match now, the oldest first. Yields after each transaction."""
        tried = passed = 0
        after, until = BEGINNING, datetime.now(UTC)
        total = await self._stores.read(lambda con: dead_letters.count_letters(con, wanted))
        yield ReplayProgress(0, 0, total)
        while letters := await self._page(wanted, after, until):
            passed += sum([self._pipeline.again(letter) for letter in letters])
            await self._intake.committed()
            tried, after = tried + len(letters), letters[-1].received_at
            yield ReplayProgress(tried, passed, max(total, tried))

    async def _page(self, wanted: LetterFilter, after: datetime, until: datetime) -> list[DeadLetter]:
        return await self._stores.read(lambda con: dead_letters.read_page(con, wanted, after, until))
