"""The catalogue's file: made, opened or refused with a sentence, and written in sets."""

import fcntl
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self

import duckdb
import numpy
import pyarrow

from indexer import tables
from indexer.seen import Hashes
from indexer.tables import Newer, Unfit
from schemas.settings import Settings

FILE: Final = "catalog.duckdb"
DAMAGE: Final = (
    OSError,
    duckdb.FatalException,
    duckdb.InternalException,
    duckdb.IOException,
    duckdb.SerializationException,
)
STORAGE_VERSION: Final = "v1.0.0"  # what every DuckDB 1.x can open

FEW: Final = 100  # keys that are written into a query one by one
# Rows that a join may pick by number while it scans, so that what lies between them is never unpacked.
# One old row among new ones costs a scan of all otherwise: 20 times as much at a million likes.
PICKED: Final = 5000

# For `did in {LISTED}`. One bound value: DuckDB 1.5 takes 0.3 ms for each of many.
LISTED: Final = "(select unnest(string_split(?, ' ')))"


class StoreError(Exception):
    """The catalogue cannot be used. The message says why and what to do, for a person."""


class Catalogue:
    """One connection to the live file. Nothing else may open it while this does."""

    def __init__(self, path: Path, con: duckdb.DuckDBPyConnection) -> None:
        self.path = path
        self.con = con
        self._shapes = {name: _shape(con, name) for name in _tables(con)}
        # Closing any descriptor of a file drops this process's locks on it, so this one stays open.
        self.file = path.open("rb", buffering=0)

    @classmethod
    def open(cls, settings: Settings) -> Self:
        """Open the file, making it when there is none. Raises StoreError."""
        path = settings.data_dir / FILE
        with sentences(path, also=duckdb.Error):
            path.parent.mkdir(parents=True, exist_ok=True)
            with _alone(path.parent):
                if not path.exists():
                    _make(path, settings)
            con = _connect(path, settings)
            try:
                _prepare(con, path)
                return cls(path, con)
            except BaseException:
                con.close()
                raise

    def close(self) -> None:
        """Close the file; its log goes into it first."""
        self.con.close()
        self.file.close()

    def insert(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append rows, all at once. Columns that a row does not name are null."""
        if not rows:
            return
        arriving = pyarrow.Table.from_pylist(list(rows), schema=self._shapes[table])
        self.con.from_arrow(arriving).insert_into(table)

    def columns(self, table: str) -> list[str]:
        """The table's columns in order."""
        names: list[str] = self._shapes[table].names
        return names

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Everything that a query finds."""
        return self.con.execute(query, list(values)).fetchall()

    def hashes(self, table: str, column: str) -> Hashes:
        """A whole column of 64-bit hashes."""
        query = f"select {column} from {table} where {column} is not null"
        values: Hashes = numpy.asarray(self.con.execute(query).fetchnumpy()[column], dtype=numpy.int64)
        return values


def require(settings: Settings) -> None:
    """Raises StoreError where there is no catalogue yet."""
    if not (settings.data_dir / FILE).exists():
        raise StoreError(f"{settings.data_dir} holds no catalogue; start the indexer or set FMSVC_DATA_DIR.")


def keys(numbers: Iterable[int]) -> str:
    """The inside of `in (…)`. DuckDB looks for a few literals while it scans; many are sooner joined."""
    found = [str(int(number)) for number in numbers]
    literals = ",".join(found)
    return f"select unnest('[{literals}]'::bigint[])" if len(found) > FEW else literals or "null"


def listed(words: Iterable[str]) -> str:
    """The one value that `in {LISTED}` wants: DIDs, CIDs, whatever has no spaces."""
    return " ".join(words)


@contextmanager
def sentences(path: Path, also: type[Exception] = OSError) -> Iterator[None]:
    """Turn what DuckDB and the system say of the file into a StoreError, but for mistakes of our own."""
    try:
        yield
    except (OSError, duckdb.Error) as error:
        said = str(error)
        sentence = _sentence(path, said)
        if sentence is None and isinstance(error, (*DAMAGE, also)):
            first = said.strip().splitlines()[0][:200]
            sentence = f"{path} cannot be read ({first}); {_afresh(path)}"
        if sentence is None:
            raise
        raise StoreError(sentence) from error


def _sentence(path: Path, said: str) -> str | None:
    """What a person can do about it, where that is known."""
    lowered = said.lower()
    if "set lock" in lowered:
        holder = re.search(r"\(PID (\d+)\)", said)
        process = f" (process {holder[1]})" if holder else ""
        return f"{path} is in use by another indexer{process}; stop that one first."
    if any(words in lowered for words in ("no space left", "file too large", "disk quota")):
        return f"No room is left to write {path}; free some and start again. What was committed is intact."
    if any(words in lowered for words in ("permission denied", "read-only file system", "not a directory")):
        return f"The folder {path.parent} cannot be written; mend its rights or set FMSVC_DATA_DIR."
    if "out of memory" in lowered:
        return "DuckDB needs more memory than it may take; set FMSVC_DUCKDB_MEMORY higher."
    return None


def _afresh(path: Path) -> str:
    return (
        f"stop the service, move {FILE}*, search and snapshots out of {path.parent} and start again: "
        "they are read anew from the network. Leave everything else there, which is not."
    )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait for another indexer that makes its file there; whoever opens that file first then has it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _make(path: Path, settings: Settings) -> None:
    """Make the file under another name, so that a crash leaves a whole one or none."""
    partial = path.with_name(f"{path.name}.partial")
    for leftover in (partial, partial.with_name(f"{partial.name}.wal")):
        leftover.unlink(missing_ok=True)
    with _connect(partial, settings) as con:
        _prepare(con, partial)
    partial.rename(path)


def _connect(path: Path, settings: Settings) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(
        path,
        config={
            "memory_limit": settings.duckdb_memory,
            "threads": 1,
            "dynamic_or_filter_threshold": PICKED,
            "storage_compatibility_version": STORAGE_VERSION,
            # The writer chooses the moment: never while the file is being copied.
            "checkpoint_threshold": "1TB",
        },
    )


def _prepare(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    try:
        tables.prepare(con)
    except Newer as error:
        raise StoreError(f"{path} {error}; use that one, or {_afresh(path)}") from error
    except Unfit as error:
        raise StoreError(f"{path} {error}; {_afresh(path)}") from error


def _tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    found = con.execute("select table_name from duckdb_tables() where not internal order by table_name")
    return [name for (name,) in found.fetchall()]


def _shape(con: duckdb.DuckDBPyConnection, table: str) -> pyarrow.Schema:
    return con.sql(f"select * from {table} limit 0").to_arrow_table().schema
