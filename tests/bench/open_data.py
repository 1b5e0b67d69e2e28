"""What the open data costs: an export of all rows, one of changes, a statement of SQL, a series."""

import asyncio
import os
import shutil
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final

from indexer.catalog.published.snapshots import Snapshots
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from readapi.index.queries import series
from readapi.index.snapshots.local import LocalSnapshots
from readapi.sql.queries import Queries
from schemas import data_folder
from schemas.settings import Settings
from tests.bench import stores
from tests.bench.rows import Row, rounded
from tests.indexer.changes import put

STATEMENTS: Final = {
    "a count": "select count(*) from likes",
    "likes of a year by the week": """
        select date_trunc('week', counted_at) as week, count(*) from likes group by week order by week
    """,
    "artists by distinct likers": """
        select tracks.did, count(distinct likes.did) as likers
        from likes join tracks on tracks.uri = track_uri group by tracks.did order by likers desc limit 10
    """,
}


def rows(data_dir: Path, scratch: Path, times: int) -> Iterator[Row]:
    """Of a copy of the catalogue, each question asked so many times."""
    folder = scratch / "open-data"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(
        data_dir, folder, ignore=shutil.ignore_patterns("search", "snapshots", "*.lock", "*.sock")
    )
    settings = stores.settings_of(folder)
    writer = Writer.open(settings)
    try:
        snapshots = Snapshots(settings, writer)
        snapshots.publish()
        begun = os.times()
        manifest = snapshots.export()
        spent = _cpu_since(begun)
        exported = sum(file.rows for file in manifest.exports[-1].files)
        yield Row(
            "rows of the open data exported, one core", rounded(exported / spent), "rows per CPU second"
        )
        writer.write(Batch(changes=[put("one", "track", at=1)]))
        snapshots.publish()
        begun = os.times()
        snapshots.export()
        cost = rounded(_cpu_since(begun))
        yield Row("an export of one change", cost, "CPU seconds")
    finally:
        writer.close()
    queries = Queries(folder / data_folder.NEWEST_PUBLISHED)
    for name, statement in STATEMENTS.items():
        took = _median(times, lambda text=statement: queries.run(text, "json", "bench"))
        yield Row(f"POST /sql, {name}", took, "ms")
    yield Row("GET /stats/series, likes of all by the week", _of_series(settings, times), "ms")


def _of_series(settings: Settings, times: int) -> float:
    files = LocalSnapshots(settings, data_folder.NEWEST_SERIES)
    span = series.make_span("likes", "week", None, datetime.now(UTC))

    async def ask() -> object:
        await files.refresh()
        return await series.count_series(files, "all", [0], span)

    try:
        return _median(times, ask)
    finally:
        files.close()


def _median(times: int, ask: Callable[[], Awaitable[object]]) -> float:
    """Milliseconds."""

    async def measure() -> float:
        took = []
        for _ in range(times):
            begun = time.perf_counter()
            await ask()
            took.append(1000 * (time.perf_counter() - begun))
        return median(took)

    return rounded(asyncio.run(measure()))


def _cpu_since(begun: os.times_result) -> float:
    now = os.times()
    return now.user + now.system - begun.user - begun.system
