"""Reads plays by the hour from the state database into DuckDB, in pages."""

import asyncio
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import duckdb
import pyarrow
import structlog

from schemas.ids import record_key
from schemas.play_counts import Hour, PlayCountTable
from schemas.settings import Settings
from schemas.state_reader import Away

log = structlog.get_logger()

_COLUMNS = pyarrow.schema(
    [("key", pyarrow.int64()), ("hour", pyarrow.timestamp("us")), ("plays", pyarrow.int32())]
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_key = lru_cache(maxsize=10_000)(record_key)


def load_hours(con: duckdb.DuckDBPyConnection, settings: Settings, since: datetime) -> bool:
    """Insert the hours from this instant on into the empty table `hours`. False when the database is away."""
    with ThreadPoolExecutor(1) as thread:  # the caller's may have an event loop
        return thread.submit(asyncio.run, _load(con, settings, since)).result()


async def _load(con: duckdb.DuckDBPyConnection, settings: Settings, since: datetime) -> bool:
    table = PlayCountTable(settings)
    try:
        async with aclosing(_pages(table, since)) as pages:
            async for page in pages:
                rows = [(_key(hour.track_uri), hour.hour, hour.plays) for hour in page]
                con.register("page", pyarrow.table(list(zip(*rows, strict=True)), _COLUMNS))
                con.execute("insert into hours from page")
                con.unregister("page")
    except Away as error:
        log.debug("plays by the hour not read", reason=str(error))
        con.execute("delete from hours")
        return False
    finally:
        await table.close()
    return True


async def _pages(table: PlayCountTable, since: datetime) -> AsyncGenerator[list[Hour]]:
    after = Hour("", (since - _EPOCH) // timedelta(microseconds=1), 0)
    while page := await table.hours_after(after):
        yield page
        after = page[-1]
