"""One snapshot of the catalogue: a read-only file, its connection, and its remembered answers."""

import asyncio
import os
import secrets
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import duckdb
import structlog

from readapi.index.snapshots.messages import FoundRows, Query
from readapi.index.snapshots.shared_answers import Asked, SharedAnswers
from schemas import heap, steps

log = structlog.get_logger()

RETRY_SECONDS: Final = 5.0  # after a failure, before the same query runs again
# DuckDB keeps the marks of deleted rows in memory, 8 bytes for each row in a vector that has one, pinned
# until the connection is closed. They come on top of the memory that a question itself may take.
MARK_BYTES: Final = 9
REST_BYTES: Final = 4 << 20  # what may stay in memory between two questions
_REST_LIMIT: Final = "1MB"
_UNITS: Final = {"MB": 10**6, "GB": 10**9}


class OtherSnapshot(Exception):
    """The snapshot's tables are of another version than the queries."""


class Snapshot:
    """One published file. `find` and `end` run on the event loop, the rest on the executor's one thread.

    `link` leads to the newest such file. `memory` is DuckDB's limit for a query; larger ones spill to disk.
    """

    def __init__(self, link: Path, path: Path, memory: str, executor: ThreadPoolExecutor) -> None:
        self.name = path.name
        self.as_of = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        self.is_proven = False  # did its last query succeed?
        self._link = link
        self._path = path
        self._executor = executor
        self._answers = SharedAnswers(self._ask, RETRY_SECONDS)
        self._is_ending = False
        # By default all processes that read the file share one folder, and overwrite each other's files.
        # A process id is not enough: containers may share the data folder.
        self._aside = Path(f"{path}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
        self._memory_bytes = int(memory[:-2]) * _UNITS[memory[-2:]]
        self._marks_bytes = 0
        self._con: duckdb.DuckDBPyConnection | None = None
        self._connect()

    async def find(self, query: Query) -> FoundRows:
        """The rows of a query; remembered when it ran before. Raises duckdb.Error."""
        return await self._answers.find(query)

    def end(self) -> None:
        """Interrupt the running query and refuse those that wait: the process is shutting down."""
        self._is_ending = True
        if (con := self._con) is not None:
            with suppress(duckdb.Error):
                con.interrupt()

    def close(self) -> None:
        """Close the file, so that the indexer may delete it, and remove spilled data."""
        con, self._con = self._con, None
        if con is not None:
            con.close()
        shutil.rmtree(self._aside, ignore_errors=True)

    def _connect(self) -> duckdb.DuckDBPyConnection:
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": f"{self._memory_bytes}B",
            "threads": 1,
            "temp_directory": str(self._aside),
        }
        con = duckdb.connect(self._path, read_only=True, config=config)
        try:
            con.execute("set enable_external_access = false")  # statements read this file and no other
            _require_version(con)
            counted = con.execute("select sum(estimated_size)::bigint from duckdb_tables()").fetchall()
        except BaseException:
            con.close()
            raise
        self._marks_bytes = MARK_BYTES * (counted[0][0] or 0)
        self._con = con
        return con

    def _ask(self, query: Query) -> Asked:
        asked = asyncio.get_running_loop().run_in_executor(self._executor, self._fetch, query)
        asked.add_done_callback(self._answered)
        return asked

    def _fetch(self, query: Query) -> FoundRows:
        if self._is_ending:
            raise duckdb.InterruptException("The process is shutting down.")
        con = self._con or self._connect()
        try:
            con.execute(f"set memory_limit = '{self._memory_bytes + self._marks_bytes}B'")
            if [one.type for one in con.extract_statements(query.sql)] != [duckdb.StatementType.SELECT]:
                raise duckdb.InvalidInputException("A query of a snapshot is one SELECT.")
            return FoundRows(self.name, self.as_of, con.execute(query.sql, dict(query.values)).fetchall())
        except duckdb.Error:
            # DuckDB may hold what it could not use, or refuse whatever follows: connect anew next time.
            self.close()
            raise

    def _answered(self, asked: Asked) -> None:
        error = None if asked.cancelled() else asked.exception()
        self.is_proven = not asked.cancelled() and error is None
        if error is not None:
            log.error("snapshot did not answer", name=self.name, error=str(error).partition("\n")[0][:200])
        elif self.is_proven and self._con is not None and not self._is_ending:
            self._executor.submit(self._rest)

    def _rest(self) -> None:
        """Give back what DuckDB would keep: the system has the file in its own cache anyway.

        Runs after the answer was handed out, so that nothing here can fail it.
        """
        if self._con is None or self._is_ending:
            return
        try:
            # Refused when pinned memory alone is more; everything else has been freed by then.
            with suppress(duckdb.OutOfMemoryException):
                self._con.execute(f"set memory_limit = '{_REST_LIMIT}'")
            held = self._con.execute("select sum(memory_usage_bytes) from duckdb_memory()").fetchall()
            if held[0][0] > REST_BYTES and self._is_safe:
                self.close()
                self._connect()
            heap.trim_memory()  # else the C library keeps what DuckDB has freed
        except duckdb.Error as error:
            log.warning("snapshot kept its memory", name=self.name, error=str(error)[:200])
            self.close()

    @property
    def _is_safe(self) -> bool:
        """Would the indexer spare the file while it is not open? It never deletes the newest."""
        try:
            return os.readlink(self._link) == self.name
        except OSError:
            return False


def _require_version(con: duckdb.DuckDBPyConnection) -> None:
    found = con.execute("select value from meta where name = 'schema_version'").fetchall()
    if found != [(str(steps.VERSION),)]:
        raise OtherSnapshot(
            "The snapshot of the catalogue is of another version; the indexer publishes a new one."
        )
