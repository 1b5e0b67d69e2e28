"""Repairs rows that the catalogue derives from records: a sample each day, all when an operator asks.

Wrong rows are corrected, and the search documents that show them are made again. A row is wrong only after a
bug of ours, so each finding is counted and logged as an error.
"""

import asyncio
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import duckdb
import orjson
import prometheus_client
import structlog
from aiohttp import web

from indexer.catalog import projections
from indexer.catalog.tables import recount
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.intake import Intake
from indexer.catalog.writing.writer import Writer
from indexer.stores import Stores

REPAIR_PATH: Final = "/repair"
FIRST_SECONDS: Final = 600.0  # after a start, which has enough to do
PERIOD_SECONDS: Final = 86_400.0
SAMPLE: Final = (
    10_000  # tracks that are recounted each day, in one query of the likes and one of the comments
)
AT_ONCE: Final = 10_000  # tracks that one transaction puts right

COMPARED = prometheus_client.Counter("fmsvc_counts_compared_total", "Tracks whose likes were recounted.")
WRONG = prometheus_client.Counter(
    "fmsvc_counts_wrong_total", "Tracks whose stored counts were not those of the records; put right."
)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Faults:
    """The faults found: keys of tracks with wrong counts, and the number of rows without a record."""

    counts: tuple[int, ...] = ()
    strays: int = 0

    def sentences(self) -> tuple[str, ...]:
        """A sentence for each kind of fault found."""
        kinds = (
            (len(self.counts), "tracks were recounted, and their search documents will be rendered again"),
            (self.strays, "rows that belonged to no record were removed"),
        )
        return tuple(f"{count:,} {what}." for count, what in kinds if count)

    def batches(self) -> Iterable[Batch]:
        """The batches that correct the faults."""
        if self.strays:
            yield Batch(sweep=True)
        for start in range(0, len(self.counts), AT_ONCE):
            yield Batch(recount=set(self.counts[start : start + AT_ONCE]))


def find_faults(con: duckdb.DuckDBPyConnection) -> Faults:
    """Compare all derived rows with the records."""
    strays = 0
    for table, condition in projections.find_strays():
        ((count,),) = con.execute(f"select count(*) from {table} where {condition}").fetchall()
        strays += count
    return Faults(tuple(recount.find_wrong_counts(con)), strays)


def repair_faults(writer: Writer) -> tuple[str, ...]:
    """Correct a catalogue that no indexer has open. Returns what was done, in sentences."""
    with writer.reader() as con:
        faults = find_faults(con)
    for batch in faults.batches():
        writer.write(batch)
    return faults.sentences()


class Repairs:
    """Repairs within a running indexer."""

    def __init__(self, stores: Stores, intake: Intake) -> None:
        self._stores = stores
        self._intake = intake

    async def run(self) -> None:
        """Compare a sample each day, until cancelled."""
        await asyncio.sleep(FIRST_SECONDS)
        while True:
            await self.compare(random.randrange(-1 << 63, 1 << 63))  # noqa: S311 - hides nothing
            await asyncio.sleep(PERIOD_SECONDS)

    async def compare(self, start: int, most: int = SAMPLE) -> int:
        """Recount so many tracks from a key on, wrapping around. Returns how many were wrong."""
        subjects = await self._stores.read(lambda con: _round(con, start, most))
        wrong = (
            await self._stores.read(lambda con: recount.find_wrong_counts(con, subjects)) if subjects else []
        )
        COMPARED.inc(len(subjects))
        await self._put_right(Faults(tuple(wrong)))
        return len(wrong)

    async def repair(self) -> tuple[str, ...]:
        """Compare all derived rows with the records, and correct them."""
        faults = await self._stores.read(find_faults)
        await self._put_right(faults)
        return faults.sentences()

    def routes(self) -> list[web.RouteDef]:
        """The routes that a running indexer serves on its control socket."""

        async def answer(_: web.Request) -> web.Response:
            return web.Response(body=orjson.dumps(await self.repair()), content_type="application/json")

        return [web.post(REPAIR_PATH, answer)]

    async def _put_right(self, faults: Faults) -> None:
        if not faults.sentences():
            return
        WRONG.inc(len(faults.counts))
        log.error("derived rows were wrong", done=faults.sentences(), tracks=faults.counts[:10])
        for wanted in faults.batches():
            await self._intake.room()
            batch = self._intake.batch
            batch.recount |= wanted.recount
            batch.sweep |= wanted.sweep
            self._intake.added(len(wanted))
            await self._intake.committed()


def _round(con: duckdb.DuckDBPyConnection, start: int, most: int) -> list[int]:
    found = recount.sample_subjects(con, start, most)
    if len(found) < most:
        found += recount.sample_subjects(con, -1 << 63, most - len(found))
    return list(dict.fromkeys(found))
