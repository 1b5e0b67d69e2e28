"""The catalogue's DuckDB file: creates or opens it, or refuses it with a sentence, and writes rows in bulk.

DuckDB writes its log (WAL) with every commit, and its memory into the file at a checkpoint. After an error
its memory may differ from the committed state. So only `Database.checkpoint` writes the file, and after the
first error nothing does: the next process to open it replays the log.
"""

import fcntl
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, Self

import duckdb
import numpy
import pyarrow
import structlog

from indexer.catalog import schema
from indexer.catalog.hash_sets import Hashes
from indexer.catalog.schema import Newer, UnfitCatalogue
from indexer.catalog.store_errors import afresh, explain_errors, free_bytes, given_up
from indexer.faults import StoreError
from schemas import data_folder
from schemas.settings import Settings

STORAGE_VERSION: Final = "v1.0.0"  # every DuckDB 1.x can open it
SPARE_BYTES: Final = 4 << 20  # of disk, beyond the known needs of a checkpoint or a copy

FEW: Final = 100  # keys that are written into a query one by one
# Rows that a join may pick by number while it scans, so that the rows between them are never unpacked.
# One old row among new ones costs a scan of all otherwise: 20 times as much at a million likes.
PICKED: Final = 5000

# For `did in {LISTED}`. One bound value: DuckDB 1.5 takes 0.3 ms for each of many.
LISTED: Final = "(select unnest(string_split(?, ' ')))"

# At every bound value DuckDB tries to import pandas, to recognise its nulls. Python does not remember that a
# module is missing and searches all folders again, which takes as long as a small statement itself. pyarrow
# fails over this entry unless it has looked before, which it does once; an installed pandas is imported then.
pyarrow.array([None])
sys.modules.setdefault("pandas", None)  # type: ignore[arg-type]

log = structlog.get_logger()


class Database:
    """One connection to the live file. No other process can open the file meanwhile."""

    def __init__(self, path: Path, con: duckdb.DuckDBPyConnection) -> None:
        self.path = path
        self.con = con
        self._failure: StoreError | None = None
        self._shapes = {name: _shape(con, name) for name in _tables(con)}
        # Closing any descriptor of a file drops this process's locks on it, so this one stays open.
        self.file = path.open("rb", buffering=0)

    @classmethod
    def open(cls, settings: Settings) -> Self:
        """Open the file, creating it when there is none. Raises StoreError."""
        path = settings.data_dir / data_folder.CATALOGUE
        with explain_errors(path, also=duckdb.Error):
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

    @property
    def wal_bytes(self) -> int:
        """The size of DuckDB's log: commits that are not in the file yet. A checkpoint removes it."""
        try:
            return _wal(self.path).stat().st_size
        except FileNotFoundError:
            return 0

    @property
    def checkpoint_bytes(self) -> int:
        """The most that the next checkpoint can add to the file: new blocks come before old ones are free."""
        return os.fstat(self.file.fileno()).st_size + self.wal_bytes

    def has_room(self, needed: int) -> bool:
        """True when the file's disk has room for so many bytes and some to spare."""
        return free_bytes(self.path) >= needed + SPARE_BYTES

    def checkpoint(self, patient: bool = False) -> bool:
        """Move the log into the file. False when a reader is in the way or the disk has no room.

        A patient call waits for readers to end. Raises StoreError.
        """
        if not self._may_checkpoint():
            return False
        with self.guarded():
            try:
                self.con.execute("force checkpoint" if patient else "checkpoint")
            except duckdb.TransactionException as error:
                if "Cannot CHECKPOINT" not in str(error):
                    raise
                return False
        return True

    def _may_checkpoint(self) -> bool:
        """False when a checkpoint could run out of room: one that fails makes the connection useless.

        But a log that only grew would fill the disk: a long one is moved all the same, which seldom needs as
        much room as it may.
        """
        return self.has_room(self.checkpoint_bytes) or self.wal_bytes > free_bytes(self.path) // 4

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Wrap every change of the file: after damage or a failed commit, further ones are refused."""
        if self._failure is not None:
            raise self._failure
        try:
            with explain_errors(self.path):
                yield
        except StoreError as error:
            self._failure = error
            raise

    def end_transaction(self, how: Literal["commit", "rollback"]) -> None:
        """Commit or roll back. If that fails, the connection is given up: its memory is in doubt then."""
        try:
            self.con.execute(how)
        except BaseException as error:
            self._failure = StoreError(given_up(self.path, error))
            raise

    @property
    def given_up(self) -> bool:
        """True when an error made the connection useless. The next one reads everything committed."""
        return self._failure is not None

    def close(self) -> None:
        """Close the file. Its log goes into it first, unless there was an error or there is no room."""
        try:
            if not self.given_up and not self.file.closed:
                self.checkpoint()
        except StoreError as error:
            log.warning("the catalogue's log stays beside it", reason=str(error))
        finally:
            self.con.close()
            self.file.close()

    def insert(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append rows in bulk. Columns that a row lacks are null."""
        if not rows:
            return
        arriving = pyarrow.Table.from_pylist(list(rows), schema=self._shapes[table])
        self.con.from_arrow(arriving).insert_into(table)

    def columns(self, table: str) -> list[str]:
        """The table's columns in order."""
        names: list[str] = self._shapes[table].names
        return names

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return self.con.execute(query, list(values)).fetchall()

    def hashes(self, table: str, column: str, where: str = "true") -> Hashes:
        """A whole column of 64-bit hashes, of the rows that meet a condition."""
        query = f"select {column} from {table} where {column} is not null and {where}"
        values: Hashes = numpy.asarray(self.con.execute(query).fetchnumpy()[column], dtype=numpy.int64)
        return values


def require_catalogue(settings: Settings) -> None:
    """Raises StoreError where there is no catalogue yet."""
    if not (settings.data_dir / data_folder.CATALOGUE).exists():
        raise StoreError(f"{settings.data_dir} holds no catalogue; start the indexer or set FMSVC_DATA_DIR.")


def join_keys(numbers: Iterable[int]) -> str:
    """The inside of `in (…)`. DuckDB compares a few literals while it scans; many are faster joined."""
    found = [str(int(number)) for number in numbers]
    literals = ",".join(found)
    return f"select unnest('[{literals}]'::bigint[])" if len(found) > FEW else literals or "null"


def join_words(words: Iterable[str]) -> str:
    """Join words without spaces, such as DIDs or CIDs, into the one value bound to `in {LISTED}`."""
    return " ".join(words)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a lock on the folder, so that two indexers that start together create one file."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _wal(path: Path) -> Path:
    return path.with_name(f"{path.name}.wal")


def _make(path: Path, settings: Settings) -> None:
    """Create the file under another name, so that a crash leaves a whole one or none."""
    partial = path.with_name(f"{path.name}.partial")
    for leftover in (partial, _wal(partial)):
        leftover.unlink(missing_ok=True)
    wal = _wal(path)
    if wal.exists():  # of a file that was moved away: it would be read into the new one
        wal.rename(wal.with_name(f"{wal.name}.left"))
    with _connect(partial, settings) as con:
        _prepare(con, partial)
        con.execute("checkpoint")
    partial.rename(path)


def _connect(path: Path, settings: Settings) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(
        path,
        config={
            "memory_limit": settings.duckdb_memory,
            "threads": 1,
            "dynamic_or_filter_threshold": PICKED,
            "storage_compatibility_version": STORAGE_VERSION,
            # The writer decides when to checkpoint: never while the file is being copied.
            "checkpoint_threshold": "1TB",
        },
    )
    con.execute("pragma disable_checkpoint_on_shutdown")
    return con


def _prepare(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    try:
        schema.prepare_tables(con)
    except Newer as error:
        raise StoreError(f"{path} {error}; use that one, or {afresh(path)}") from error
    except UnfitCatalogue as error:
        raise StoreError(f"{path} {error}; {afresh(path)}") from error


def _tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    found = con.execute("select table_name from duckdb_tables() where not internal order by table_name")
    return [name for (name,) in found.fetchall()]


def _shape(con: duckdb.DuckDBPyConnection, table: str) -> pyarrow.Schema:
    return con.sql(f"select * from {table} limit 0").to_arrow_table().schema
