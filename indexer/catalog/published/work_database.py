"""A DuckDB database in memory, in which published files are made: bounded, and without a trace afterwards."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb


@contextmanager
def work_database(aside: Path, memory: str, **more: bool) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with one thread. `memory`: above it DuckDB writes to the folder `aside`, which is removed.

    `more`: further options of DuckDB.
    """
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": memory,
        "threads": 1,
        "temp_directory": str(aside),
        **more,
    }
    try:
        with duckdb.connect(config=config) as con:
            yield con
    finally:
        shutil.rmtree(aside, ignore_errors=True)
