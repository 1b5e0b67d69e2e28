"""What the figures are held to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tests.bench import api, backfill, commits, decoding, freshness, memory, questions, streaming
from tests.bench.api import REFERENCE
from tests.bench.rows import Row


@dataclass(frozen=True, slots=True)
class Goal:
    """A row's value, or its ratio to `reference`, is to be at least (or at most) so much."""

    row: str
    bound: float
    reference: str | None = None
    is_most: bool = False

    def reached(self, row: Row) -> float:
        """What is compared."""
        return row.value if self.reference is None else row.ratio_to[self.reference]

    def is_met(self, row: Row) -> bool:
        found = self.reached(row)
        return found <= self.bound if self.is_most else found >= self.bound

    @property
    def words(self) -> str:
        """The goal as a table says it."""
        sign = "≤" if self.is_most else "≥"
        return f"{sign} {self.bound:g}" + (" ×" if self.reference else "")


def _of_route(route: str, bound: float) -> Goal:
    return Goal(route, bound, REFERENCE)


ALL: Final = (
    Goal(decoding.NAME, 20, decoding.CLIENT),
    Goal(commits.NAME, 1000),
    Goal(backfill.COMMITTED, 10_000),
    Goal(backfill.MEMORY, backfill.FLAT_MEGABYTES, is_most=True),
    _of_route(questions.TRACK, 0.6),
    _of_route(questions.SEARCH, 0.2),
    Goal(api.p99(questions.SEARCH), 10, is_most=True),
    *(_of_route(route, 0.4) for route in questions.LISTS),
    Goal(api.WITH_SESSION, 0.85, api.WITHOUT_SESSION),
    Goal(streaming.NAME, 0.7, streaming.REFERENCE),
    Goal(freshness.P99, 1500, is_most=True),
    Goal(memory.at_full_size(memory.INDEXER), memory.INDEXER_LIMIT, is_most=True),
    Goal(memory.at_full_size(memory.WORKER), memory.WORKER_LIMIT, is_most=True),
)


def judged(rows: Mapping[str, Row]) -> list[tuple[Goal, Row]]:
    """The goals that were measured, with what was found."""
    return [(goal, rows[goal.row]) for goal in ALL if goal.row in rows]
