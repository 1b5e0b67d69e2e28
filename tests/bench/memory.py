"""What both programs hold, and what that comes to at the size that the limits are set for."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench import api, commits
from tests.bench.corpus import Size
from tests.bench.machine import Held, Memory
from tests.bench.rows import Row, rounded

INDEXER: Final = "the indexer"
WORKER: Final = "a worker"
READER: Final = "the reader of snapshots"
FULL: Final = Size(1_000_000, 10_000_000)
INDEXER_LIMIT: Final = 2048.0
WORKER_LIMIT: Final = 300.0
DUCKDB_LIMIT: Final = 768.0  # of the indexer, by default


class Idle(NamedTuple):
    """What the programs have while there is nothing to hold."""

    indexer: Memory
    reader: Memory
    worker: Memory


def measured(program: str, before: Held, after: Held, empty: Memory) -> Iterator[Row]:
    """As measured, before and after the load."""
    used = after.memory
    yield Row(f"memory of {program}, mapped files included", used.resident, "MB")
    yield Row(f"memory of {program}", used.private, "MB")
    yield Row(f"memory of {program} before the load", before.memory.private, "MB")
    yield Row(f"memory of {program} of an empty catalogue", empty.private, "MB")
    if after.limited:
        yield Row(f"memory of {program} that DuckDB holds", rounded(after.limited), "MB")


def rows(
    program: str, before: Held, after: Held, empty: Memory, size: Size, limit: float = 0.0
) -> Iterator[Row]:
    """The same, and at the full size.

    What a catalogue takes before there is any load grows in a straight line from an empty one; what the load
    adds is of a bounded size; the part that has a limit of its own counts as that.
    """
    yield from measured(program, before, after, empty)
    grown = empty.private + max(before.rest - empty.private, 0) * FULL.likes / size.likes
    yield Row(at_full_size(program), rounded(grown + after.rest - before.rest + limit), "MB")


def at_full_size(program: str) -> str:
    """The name of the row that the limit is for."""
    return f"memory of {program}, extrapolated to 1,000,000 tracks and 10,000,000 likes"


def limit_at(limit: float, empty: float, likes: int) -> float:
    """The limit of a smaller catalogue: what does not grow, and its share of the rest."""
    return empty + (limit - empty) * min(likes / FULL.likes, 1.0)


def of_empty(scratch: Path) -> Idle:
    """An indexer and a worker that have nothing to hold."""
    folder = scratch / "empty"
    shutil.rmtree(folder, ignore_errors=True)
    indexer = asyncio.run(commits.at_rest(folder, scratch / "empty.log"))
    with api.reader_of(folder, scratch) as reader, api.worker_of(folder, scratch) as worker:
        return Idle(indexer, Memory.of(reader), Memory.of(worker.pid))
