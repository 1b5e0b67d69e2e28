"""What the figures are held to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tests.bench import (
    api,
    backfill,
    commits,
    decoding,
    freshness,
    live,
    memory,
    questions,
    streaming,
    takedowns,
    verifying,
    worst,
)
from tests.bench.api import BY_CPU, REFERENCE, SAME_SIZE, UNCACHED
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
        of = " × of the same size" if self.reference == SAME_SIZE else " ×" if self.reference else ""
        return f"{sign} {self.bound:g}{of}"


def _of_route(route: str, bound: float) -> Goal:
    return Goal(route, bound, REFERENCE)


def _made(route: str, bound: float, reference: str = BY_CPU) -> Goal:
    """For answers that are made each time."""
    return Goal(f"{route}, {UNCACHED}", bound, reference)


def _slowest(search: str) -> Goal:
    """For a class of searches, at every size of the catalogue."""
    return Goal(api.p99(api.search_row(search)), 25, is_most=True)


_SHARED: Final = (questions.NEWEST, questions.TOP, questions.TAGS, questions.STATS)  # asked alike by many
ALL: Final = (
    Goal(decoding.NAME, 25, decoding.CLIENT),
    Goal(verifying.NAME, 4500),
    Goal(commits.BY_CPU, 1500),
    Goal(commits.LIKE, 0.5, is_most=True),
    Goal(commits.START, 30, is_most=True),
    Goal(backfill.COMMITTED, 10_000),
    Goal(backfill.FOUND, 7000),
    Goal(backfill.MEMORY, backfill.FLAT_MEGABYTES, is_most=True),
    _made(questions.TRACK, 0.7),
    _of_route(questions.SEARCH, 0.2),
    Goal(api.p99(questions.SEARCH), 10, is_most=True),
    *(_slowest(name) for name in (*questions.CLASSES, *worst.CLASSES)),
    _made(questions.OF_ARTIST, 0.36),
    _made(questions.PLAYLISTS, 0.14),
    _made(questions.OEMBED, 0.3),
    *(Goal(route, 0.7, BY_CPU) for route in _SHARED),
    *(_made(route, 0.3) for route in _SHARED),
    *(_made(route, 0.5, SAME_SIZE) for route in (questions.NEWEST, questions.OF_EITHER, questions.OF_TAG)),
    Goal(api.WITH_SESSION, 0.85, api.WITHOUT_SESSION),
    Goal(streaming.NAME, 0.7, streaming.REFERENCE),
    Goal(takedowns.SENT, 1000, is_most=True),
    Goal(live.COST, 50, is_most=True),
    *(Goal(freshness.p50(name), 150, is_most=True) for name in freshness.IDLE),
    *(Goal(freshness.p99(name), 500, is_most=True) for name in freshness.IDLE),
    *(Goal(freshness.p99(name), 1000, is_most=True) for name in freshness.BUSY),
    Goal(memory.at_full_size(memory.INDEXER), memory.INDEXER_LIMIT, is_most=True),
    Goal(memory.at_full_size(memory.WORKER), memory.WORKER_LIMIT, is_most=True),
)


def judged(rows: Mapping[str, Row]) -> list[tuple[Goal, Row]]:
    """The goals that were measured, with what was found."""
    return [
        (goal, row)
        for goal in ALL
        if (row := rows.get(goal.row)) is not None
        and (goal.reference is None or goal.reference in row.ratio_to)
    ]
