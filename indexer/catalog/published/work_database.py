"""DuckDB databases in memory, in which published files are made: bounded, and without a trace afterwards."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

import duckdb


class WorkDatabase:
    """A database for one piece of work at a time, which another thread can interrupt."""

    def __init__(self) -> None:
        self._lock = Lock()  # a connection must not be interrupted while it is closed
        self._con: duckdb.DuckDBPyConnection | None = None

    @contextmanager
    def open(self, aside: Path, memory: str, **more: bool) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection with one thread. `memory`: above it DuckDB writes to the folder `aside`.

        The folder is removed afterwards. `more`: further options of DuckDB.
        """
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": memory,
            "threads": 1,
            "temp_directory": str(aside),
            **more,
        }
        try:
            with duckdb.connect(config=config) as con:
                self._use(con)
                try:
                    yield con
                finally:
                    self._use(None)
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def interrupt(self) -> None:
        """Have a statement that runs now raise duckdb.InterruptException."""
        with self._lock:
            if self._con is not None:
                self._con.interrupt()

    def _use(self, con: duckdb.DuckDBPyConnection | None) -> None:
        with self._lock:
            self._con = con
