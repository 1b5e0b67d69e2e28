"""Checks the whole catalogue: counts its rows, measures the lag of its cursors, and finds its problems."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import duckdb

from indexer.catalog import projections
from indexer.catalog.database import Database
from indexer.catalog.projections import Projection
from indexer.catalog.store_errors import explain_errors
from indexer.catalog.tables import recount
from schemas.settings import Settings


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far one source has been read."""

    source: str
    seq: int
    event_time: datetime | None
    lag_seconds: float | None


@dataclass(frozen=True, slots=True)
class CheckReport:
    """`problems` are sentences; a catalogue without any is sound."""

    counts: dict[str, int]
    cursors: tuple[Cursor, ...]
    op: int
    watermark: int | None
    problems: tuple[str, ...]


def check_live(settings: Settings, watermark: int | None, now: datetime) -> CheckReport:
    """Open the live catalogue and inspect it. Raises StoreError when it cannot be opened or read.

    `watermark` is how far the search index has followed the outbox; None when there is no index.
    """
    catalogue = Database.open(settings)
    try:
        with explain_errors(catalogue.path):
            return check_catalogue(catalogue.con, watermark, now)
    finally:
        catalogue.close()


def check_catalogue(con: duckdb.DuckDBPyConnection, watermark: int | None, now: datetime) -> CheckReport:
    """Inspect a catalogue that is open: the live one, or a snapshot."""
    op = _meta(con, "outbox_op")
    problems = [*_misread(con), *_outbox(con, op, watermark)]
    for projection in projections.ALL:
        problems += _table(con, projection)
    mismatches = len(recount.find_wrong_counts(con))
    if mismatches:
        problems.append(f"{mismatches} rows of track_counts differ from a recount.")
    return CheckReport(_counts(con), _cursors(con, now), op, watermark, tuple(problems))


def _counts(con: duckdb.DuckDBPyConnection) -> dict[str, int]:
    return {table: _number(con, f"select count(*) from {table}") for table in _tables(con)}


def _cursors(con: duckdb.DuckDBPyConnection, now: datetime) -> tuple[Cursor, ...]:
    rows = con.execute("select source, seq, event_time from cursors order by source").fetchall()
    return tuple(_cursor(source, seq, event_time, now) for source, seq, event_time in rows)


def _cursor(source: str, seq: int, event_time: datetime | None, now: datetime) -> Cursor:
    if event_time is None:
        return Cursor(source, seq, None, None)
    instant = event_time.replace(tzinfo=UTC)
    return Cursor(source, seq, instant, max(0.0, (now - instant).total_seconds()))


def _misread(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Read every value of every table: DuckDB compares each block with its checksum."""
    problems = []
    for table in _tables(con):
        try:
            con.execute(f"select bit_xor(hash(rows)) from {table} as rows").fetchall()
        except (duckdb.IOException, duckdb.SerializationException) as error:
            problems.append(f"The table {table} cannot be read: {str(error).splitlines()[0][:200]}")
    return problems


def _outbox(con: duckdb.DuckDBPyConnection, op: int, watermark: int | None) -> list[str]:
    pruned = _meta(con, "outbox_pruned")
    problems = []
    if watermark is not None and watermark < pruned:
        problems.append(
            f"The search index stands at {watermark} and the outbox begins after {pruned}; "
            "run fmsvc-server rebuild."
        )
    if watermark is not None and watermark > op:
        problems.append(
            f"The search index stands at {watermark}, ahead of the outbox at {op}: it belongs to another "
            "catalogue; run fmsvc-server rebuild."
        )
    entries = _number(con, "select count(*) from outbox")
    if entries != op - pruned:
        problems.append(f"The outbox holds {entries} entries where {op - pruned} are expected.")
    return problems


def _table(con: duckdb.DuckDBPyConnection, projection: Projection[Any]) -> list[str]:
    table = projection.table
    problems = [
        _problem(
            con,
            f"select count(*) - count(distinct {column}) from {table}",
            f"rows of {table} share their {column}",
        )
        for column in ("key", "id")[: 1 + projection.has_id]
    ]
    strangers = f"select count(*) from {table} where did not in (select did from accounts)"
    problems.append(_problem(con, strangers, f"rows of {table} belong to no known account"))
    for child in projection.child_tables:
        strays = f"select count(*) from {child} where {projection.strays}"
        problems.append(_problem(con, strays, f"rows of {child} belong to no live row of {table}"))
    unexplained = (
        f"select count(*) from {table} "
        "where state = 'invalid' and key not in (select key from invalid_records)"
    )
    problems.append(_problem(con, unexplained, f"invalid rows of {table} come without reasons"))
    return [problem for problem in problems if problem]


def _problem(con: duckdb.DuckDBPyConnection, query: str, what: str) -> str | None:
    found = _number(con, query)
    return f"{found} {what}." if found else None


def _tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    found = con.execute(
        "select table_name from duckdb_tables() where not internal and not temporary order by table_name"
    )
    return [name for (name,) in found.fetchall()]


def _meta(con: duckdb.DuckDBPyConnection, name: str) -> int:
    found = con.execute("select value from meta where name = ?", [name]).fetchone()
    return int(found[0]) if found else 0


def _number(con: duckdb.DuckDBPyConnection, query: str) -> int:
    ((found,),) = con.execute(query).fetchall()
    return int(found)
