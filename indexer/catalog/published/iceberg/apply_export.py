"""Applies an export to an Iceberg table: one snapshot, which has the state's number.

Rows change by copying the files that hold them (copy-on-write). Files of deletes would be cheaper to write,
but not every engine reads them, and pyiceberg writes none.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from indexer.catalog.published.files import quoted
from indexer.catalog.published.iceberg.data_files import (
    FILE_BYTES,
    list_files,
    read_groups,
    write_files,
)
from indexer.catalog.published.iceberg.states import State
from schemas import exports

BATCH_ROWS: Final = 8192
SMALL_FILES: Final = 16  # more of them are put together
_SMALL_BYTES: Final = FILE_BYTES // 4


def replace_rows(con: duckdb.DuckDBPyConnection, table: Table, source: Path, state: State) -> None:
    """Make the rows of a full export all rows of the table."""
    old = list_files(table)
    _commit(table, write_files(table, _stream(con.sql(f"from '{quoted(source)}'"))), old, state)


def change_rows(
    con: duckdb.DuckDBPyConnection, table: Table, described: exports.Table, source: Path | None, state: State
) -> None:
    """Apply an export of changes. `source`: its file; None: the table is the same in this state."""
    if source is None:
        return _commit(table, [], [], state)
    key, path = ", ".join(described.key), quoted(source)
    con.execute(f"create or replace temp table gone as select {key} from '{path}'")
    files = list_files(table)
    small = [file for file in files if file.file_size_in_bytes < _SMALL_BYTES]
    merged = (
        small if len(small) > SMALL_FILES else [file for file in small if _holds_gone(con, table, file, key)]
    )
    copied = [file for file in files if file not in small and _holds_gone(con, table, file, key)]
    upserts = _stream(con.sql(f"select * exclude change from '{path}' where change = 'upsert'"))
    remaining = chain.from_iterable(_read_remaining(con, table, file, key) for file in merged)
    added = write_files(table, chain(remaining, upserts))
    for file in copied:
        added += write_files(table, _read_remaining(con, table, file, key))
    return _commit(table, added, merged + copied, state)


def _holds_gone(con: duckdb.DuckDBPyConnection, table: Table, file: DataFile, key: str) -> bool:
    query = f"select 1 from held semi join gone using ({key}) limit 1"
    return any(found.num_rows for found in _ask_groups(con, table, file, key.split(", "), query))


def _read_remaining(
    con: duckdb.DuckDBPyConnection, table: Table, file: DataFile, key: str
) -> Iterator[pa.RecordBatch]:
    columns = [field.name for field in table.schema().fields]
    query = f"select {', '.join(columns)} from held anti join gone using ({key})"
    for rows in _ask_groups(con, table, file, columns, query):
        yield from rows.to_batches()


def _ask_groups(
    con: duckdb.DuckDBPyConnection, table: Table, file: DataFile, columns: list[str], query: str
) -> Iterator[pa.Table]:
    """Ask each row group. Given a stream, DuckDB read all of it while the answer was being written."""
    for group in read_groups(table, file, columns):
        con.register("held", group)
        yield con.execute(query).to_arrow_table()
        con.unregister("held")


def _stream(rows: duckdb.DuckDBPyRelation) -> Iterator[pa.RecordBatch]:
    yield from rows.to_arrow_reader(BATCH_ROWS)


def _commit(table: Table, added: list[DataFile], removed: list[DataFile], state: State) -> None:
    with table.transaction() as transaction:
        update = transaction.update_snapshot(snapshot_properties=state.properties)
        if not removed:
            with update.fast_append() as append:
                for file in added:
                    append.append_data_file(file)
            return
        with update.overwrite() as overwrite:
            for file in added:
                overwrite.append_data_file(file)
            for file in removed:
                overwrite.delete_data_file(file)
