"""Dead letters, judged again: a later version of this program may know better."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from indexer import dead_letters
from indexer.batch import DeadLetter
from indexer.dead_letters import Wanted
from indexer.intake import Intake
from indexer.pipeline import Pipeline
from indexer.stores import Stores

BEGINNING: Final = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How far it has come: of `total` letters `tried` were, and of those `passed` are none any more."""

    tried: int
    passed: int
    total: int


class Retrial:
    """Takes letters the way that frames take, but for the cursor."""

    def __init__(self, stores: Stores, pipeline: Pipeline, intake: Intake) -> None:
        self._stores = stores
        self._pipeline = pipeline
        self._intake = intake

    async def run(self, wanted: Wanted) -> AsyncIterator[Outcome]:
        """Try every one that is there now, the oldest first. Yields after each transaction."""
        tried = passed = 0
        after, until = BEGINNING, datetime.now(UTC)
        total = await self._stores.read(lambda con: dead_letters.count(con, wanted))
        yield Outcome(0, 0, total)
        while letters := await self._page(wanted, after, until):
            passed += sum([self._pipeline.again(letter) for letter in letters])
            await self._intake.committed()
            tried, after = tried + len(letters), letters[-1].received_at
            yield Outcome(tried, passed, max(total, tried))

    async def _page(self, wanted: Wanted, after: datetime, until: datetime) -> list[DeadLetter]:
        return await self._stores.read(lambda con: dead_letters.page(con, wanted, after, until))
