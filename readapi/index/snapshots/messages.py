"""What workers and the process that has the snapshots open send each other, over HTTP on a Unix socket.

JSON has no instants: messages name the values and columns that are.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from readapi.index.snapshots.interface import Row

# Each request names the files it is about (LINK) and the version of the tables that its program knows
# (TABLES); another version than the process's own is refused: 503 with a sentence, as are queries that fail.
STATE: Final = "/state"  # GET: the answer is a `State`
ROWS: Final = "/rows"  # POST with a `Query`: the answer is `FoundRows`
MOST_BYTES: Final = 32 << 20  # of an answer; a larger one is refused
LINK: Final = "link"
TABLES: Final = "tables"


class Query(NamedTuple):
    """A statement and the values of its parameters."""

    sql: str
    values: Mapping[str, Any]


class State(NamedTuple):
    """What a process has open. `trouble`: why there is no `version`, in a sentence; None with one."""

    version: str | None
    as_of: datetime | None
    trouble: str | None


class FoundRows(NamedTuple):
    """The rows of a query, and the snapshot that gave them."""

    version: str
    as_of: datetime
    rows: list[Row]


def socket_of(folder: Path) -> Path:
    """The socket in a data folder."""
    return folder / "snapshots.sock"


def encode_query(query: Query) -> bytes:
    """Values are numbers, text and instants without a time zone."""
    instants = [name for name, value in query.values.items() if isinstance(value, datetime)]
    return orjson.dumps({"sql": query.sql, "values": query.values, "instants": instants})


def decode_query(message: bytes) -> Query:
    """The opposite of `encode_query`."""
    known = orjson.loads(message)
    values = known["values"]
    for name in known["instants"]:
        values[name] = datetime.fromisoformat(values[name])
    return Query(known["sql"], values)


def encode_state(state: State) -> bytes:
    """`as_of` as seconds since 1970."""
    as_of = None if state.as_of is None else state.as_of.timestamp()
    return orjson.dumps({"version": state.version, "as_of": as_of, "trouble": state.trouble})


def decode_state(message: bytes) -> State:
    """The opposite of `encode_state`."""
    known = orjson.loads(message)
    as_of = None if known["as_of"] is None else datetime.fromtimestamp(known["as_of"], UTC)
    return State(known["version"], as_of, known["trouble"])


def encode_rows(found: FoundRows) -> bytes:
    """Rows have numbers, text, instants without a time zone, and nulls."""
    width = len(found.rows[0]) if found.rows else 0
    instants = [at for at in range(width) if any(isinstance(row[at], datetime) for row in found.rows)]
    as_of = found.as_of.timestamp()
    return orjson.dumps({"version": found.version, "as_of": as_of, "rows": found.rows, "instants": instants})


def decode_rows(message: bytes) -> FoundRows:
    """The opposite of `encode_rows`."""
    known = orjson.loads(message)
    rows = known["rows"]
    for at in known["instants"]:
        for row in rows:
            if row[at] is not None:
                row[at] = datetime.fromisoformat(row[at])
    return FoundRows(known["version"], datetime.fromtimestamp(known["as_of"], UTC), list(map(tuple, rows)))
