"""The catalogue's file: made, opened or refused with a sentence, and written in sets."""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, Final, Self

import duckdb
import numpy
import pyarrow
import structlog

from indexer.seen import Hashes
from schemas.settings import Settings

FILE: Final = "catalog.duckdb"
SCHEMA_VERSION: Final = 1
STORAGE_VERSION: Final = "v1.0.0"  # what every DuckDB 1.x can open

log = structlog.get_logger()


class StoreError(Exception):
    """The catalogue cannot be used. The message says why and what to do, for a person."""


class Catalogue:
    """One connection to the live file. Nothing else may open it while this does."""

    def __init__(self, path: Path, con: duckdb.DuckDBPyConnection) -> None:
        self.path = path
        self.con = con
        self._shapes = {name: _shape(con, name) for name in _tables(con)}
        # Closing any descriptor of a file drops this process's locks on it, so this one stays open.
        self.descriptor = os.open(path, os.O_RDONLY)

    @classmethod
    def open(cls, settings: Settings) -> Self:
        """Open the file, making it when there is none. Raises StoreError."""
        path = settings.data_dir / FILE
        with sentences(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            con = duckdb.connect(
                path,
                config={
                    "memory_limit": settings.duckdb_memory,
                    "threads": 1,
                    "storage_compatibility_version": STORAGE_VERSION,
                    # The writer chooses the moment: never while the file is being copied.
                    "checkpoint_threshold": "1TB",
                },
            )
            try:
                _prepare(con, path)
                return cls(path, con)
            except BaseException:
                con.close()
                raise

    def close(self) -> None:
        """Close the file; its log goes into it first."""
        self.con.close()
        os.close(self.descriptor)

    def insert(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append rows, all at once. Columns that a row does not name are null."""
        if not rows:
            return
        arriving = pyarrow.Table.from_pylist(list(rows), schema=self._shapes[table])
        self.con.register("arriving", arriving)
        try:
            self.con.execute(f"insert into {table} by name select * from arriving")
        finally:
            self.con.unregister("arriving")

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


def keys(numbers: Iterable[int]) -> str:
    """The inside of `in (…)`. DuckDB looks for literals while it scans: 10 times faster than a join."""
    return ",".join(str(int(number)) for number in numbers) or "null"


def marks(values: Collection[Any]) -> str:
    """The inside of `in (…)` for values that are bound."""
    return ",".join("?" * len(values)) or "null"


@contextmanager
def sentences(path: Path) -> Iterator[None]:
    """Turn what DuckDB and the system say about the file into a StoreError."""
    try:
        yield
    except (OSError, duckdb.IOException, duckdb.FatalException, duckdb.InternalException) as error:
        raise StoreError(_sentence(path, str(error))) from error
    except (duckdb.SerializationException, duckdb.CatalogException, duckdb.BinderException) as error:
        raise StoreError(_damaged(path, str(error))) from error


def _sentence(path: Path, said: str) -> str:
    lowered = said.lower()
    if "set lock" in lowered:
        holder = re.search(r"\(PID (\d+)\)", said)
        process = f" (process {holder[1]})" if holder else ""
        return f"{path} is in use by another indexer{process}; stop that one first."
    if "no space left" in lowered or "file too large" in lowered or "disk quota" in lowered:
        return f"No room is left to write {path}; free some and start again. What was committed is intact."
    if any(words in lowered for words in ("permission denied", "read-only file system", "not a directory")):
        return f"The folder {path.parent} cannot be written; mend its rights or set FMSVC_DATA_DIR."
    return _damaged(path, said)


def _damaged(path: Path, said: str) -> str:
    first = said.strip().splitlines()[0][:200] if said.strip() else "no reason given"
    return (
        f"{path} cannot be read ({first}). Move the folder {path.parent} away and start again: "
        "everything in it is read anew from the network."
    )


def _prepare(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    known = (
        con.execute("select value from meta where name = 'schema_version'").fetchone()
        if ("meta" in _tables(con))
        else None
    )
    if known is not None and int(known[0]) != SCHEMA_VERSION:
        made_by = "a newer" if int(known[0]) > SCHEMA_VERSION else "an older"
        raise StoreError(
            f"{path} was made by {made_by} version of this program; use that version, or move the folder "
            f"{path.parent} away and start again: everything in it is read anew from the network."
        )
    con.execute(resources.files("schemas").joinpath("tables.sql").read_text())
    con.execute("insert or ignore into meta values ('schema_version', ?)", [str(SCHEMA_VERSION)])


def _tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    found = con.execute("select table_name from duckdb_tables() where not internal order by table_name")
    return [name for (name,) in found.fetchall()]


def _shape(con: duckdb.DuckDBPyConnection, table: str) -> pyarrow.Schema:
    return con.sql(f"select * from {table} limit 0").to_arrow_table().schema
