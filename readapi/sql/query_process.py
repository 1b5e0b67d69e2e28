"""Runs one statement: `python -m readapi.sql.query_process DATABASE FORM`, the statement on standard input.

Prints a line of JSON, then the body. The line is `{"error": …}` or `{"rows": …, "truncated": …}`. Before it
reads the statement it gives up everything that a query does not need: settings, files, network, programs.
"""

import csv
import io
import os
import resource
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import duckdb
import orjson
import pyarrow
import pyarrow.ipc
import pyarrow.parquet

from readapi.audio.decoding.sandbox import enter_sandbox
from readapi.sql.limits import CPU_SECONDS, LIMITS, MEMORY, MOST_BYTES, MOST_ROWS
from readapi.sql.statement import StatementRefused, check_statement

_BATCH_ROWS: Final = 500
_CONFIG: Final[dict[str, str | bool | int | float | list[str]]] = {
    "memory_limit": MEMORY,
    "threads": 1,  # no others are started: the sandbox holds for threads that begin in it
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,  # variables of this program are no tables
}
# In this order: the second cannot be set once files are closed to it.
_LOCKS: Final = (
    "set TimeZone = 'UTC'",
    "set enable_external_access = false",
    "set disabled_filesystems = 'LocalFileSystem'",
    "set lock_configuration = true",
)

_TOO_LARGE: Final = f"The answer is larger than {MOST_BYTES >> 20} MiB; select less."


class TooLarge(Exception):
    """The answer would be larger than it may be."""


def main(database: str, form: str) -> None:
    """Print the answer, or why there is none."""
    con = duckdb.connect(database, read_only=True, config=_CONFIG)
    checking = duckdb.connect(config=_CONFIG)
    for lock in _LOCKS:
        con.execute(lock)
        checking.execute(lock)
    tables = {name for (name,) in con.execute("select table_name from duckdb_tables()").fetchall()} - {"meta"}
    reserved = {name for (name,) in con.execute("select view_name from duckdb_views()").fetchall()} | {"meta"}
    write = WRITERS[form]
    pyarrow.set_cpu_count(1)
    duckdb.default_connection().close()  # its thread ends with it
    pyarrow.scalar(0, pyarrow.timestamp("us", "UTC")).as_py()  # reads the timezone's file, once
    try:
        _give_up_rights()
        query = sys.stdin.buffer.read().decode()
        check_statement(_tree_of(query, checking), frozenset(tables), frozenset(reserved))
        table, is_truncated = _read(con.execute(query))
        body = _bounded(write(table, is_truncated))
    except (OverflowError, NotImplementedError):
        _print({"error": "A value of the answer cannot be written in this form; cast it to text."}, b"")
    except (duckdb.OutOfMemoryException, MemoryError):
        _print({"error": "The query takes more memory than it may have."}, b"")
    except (duckdb.Error, StatementRefused, TooLarge, RecursionError, ValueError) as error:
        _print({"error": _sentence(error)}, b"")
    else:
        _print({"rows": table.num_rows, "truncated": is_truncated}, body)


def _give_up_rights() -> None:
    """Raises StatementRefused where the kernel cannot isolate the process."""
    threads = len(os.listdir("/proc/self/task"))
    missing = {"landlock", "seccomp"} & {*enter_sandbox()}
    if threads != 1 or missing:  # threads that run keep their rights
        raise StatementRefused("This machine cannot isolate queries, and runs none.")
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _tree_of(query: str, con: duckdb.DuckDBPyConnection) -> object:
    """The statement's tree, read by another database than the one that it is run in."""
    serialize = "select json_serialize_sql(?, skip_null := true, skip_default := true)"
    [(tree,)] = con.execute(serialize, [query]).fetchall()
    return orjson.loads(tree)


def _read(found: duckdb.DuckDBPyConnection) -> tuple[pyarrow.Table, bool]:
    """At most MOST_ROWS rows, and whether there were more. Raises TooLarge."""
    reader = found.to_arrow_reader(_BATCH_ROWS)
    batches, rows, size = [], 0, 0
    for batch in reader:
        batches.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if size > 2 * MOST_BYTES:  # of numbers, which take less room as text
            raise TooLarge(_TOO_LARGE)
        if rows > MOST_ROWS:
            break
    table = pyarrow.Table.from_batches(batches, reader.schema)
    return table.slice(0, MOST_ROWS), rows > MOST_ROWS


def _as_json(table: pyarrow.Table, is_truncated: bool) -> bytes:
    columns = [{"name": field.name, "type": str(field.type)} for field in table.schema]
    body = {"columns": columns, "rows": _rows(table), "truncated": is_truncated, "limits": LIMITS}
    return orjson.dumps(body, default=str, option=orjson.OPT_UTC_Z)


def _as_csv(table: pyarrow.Table, _is_truncated: bool) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(table.column_names)
    writer.writerows(_rows(table))
    return text.getvalue().encode()


def _as_arrow(table: pyarrow.Table, _is_truncated: bool) -> bytes:
    body = io.BytesIO()
    with pyarrow.ipc.new_stream(body, table.schema) as writer:
        writer.write_table(table)
    return body.getvalue()


def _as_parquet(table: pyarrow.Table, _is_truncated: bool) -> bytes:
    body = io.BytesIO()
    pyarrow.parquet.write_table(table, body, compression="zstd")
    return body.getvalue()


def _rows(table: pyarrow.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


Writer = Callable[[pyarrow.Table, bool], bytes]
WRITERS: Final[Mapping[str, Writer]] = {
    "json": _as_json,
    "csv": _as_csv,
    "arrow": _as_arrow,
    "parquet": _as_parquet,
}


def _bounded(body: bytes) -> bytes:
    if len(body) > MOST_BYTES:
        raise TooLarge(_TOO_LARGE)
    return body


def _sentence(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "The statement is nested too deeply."
    return " ".join(str(error).split())[:500] or "The query failed."


def _print(line: Mapping[str, object], body: bytes) -> None:
    sys.stdout.buffer.write(orjson.dumps(line) + b"\n" + body)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
