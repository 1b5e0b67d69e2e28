"""The catalogue's tables: creates them, migrates them from an earlier version, or refuses the file."""

import functools
from importlib import resources
from typing import Final

import duckdb
import structlog

from schemas import steps
from schemas.steps import Step

Column = tuple[str, str, str]  # "table" or "view", its name, the column's

# All tables and views that are not DuckDB's own. Nothing outside the schema `main` is ours.
_RELATIONS: Final = "select {name} from duckdb_{kind}() where not internal and not temporary order by all"

log = structlog.get_logger()


class UnfitCatalogue(Exception):
    """The file cannot be used by this version. The message says why, as the rest of `the catalogue …`."""


class Newer(UnfitCatalogue):
    """A newer version made the file."""


class Older(UnfitCatalogue):
    """An older version made the file, and its rows cannot be migrated."""


def prepare_tables(con: duckdb.DuckDBPyConnection) -> None:
    """Create the tables, or migrate them. Raises Unfit, with the file unchanged."""
    version = _version(con)
    if version is None:
        _make(con)
    elif version > steps.VERSION:
        raise Newer(f"was made by a newer version of this program (tables {version}, not {steps.VERSION})")
    elif version < steps.VERSION:
        _carry_over(con, version)
    if missing := sorted(_expected() - _columns(con)):
        kind, name, column = missing[0]
        raise UnfitCatalogue(f"is damaged: the {kind} {name} has no column {column}")


def _version(con: duckdb.DuckDBPyConnection) -> int | None:
    """The version of the tables in the file; None when there are none."""
    tables = _names(con, "tables", "table_name")
    if not tables:
        return None
    if "meta" not in tables:
        raise UnfitCatalogue("was not made by this program: it holds other tables")
    try:
        found = con.execute("select value from meta where name = 'schema_version'").fetchall()
    except duckdb.BinderException as error:
        raise UnfitCatalogue("is damaged: the table meta has other columns") from error
    value = str(found[0][0]) if found else ""
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise UnfitCatalogue(f"is damaged: {value[:20]!r} is no version of its tables")
    return int(value)


def _make(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("begin")
    con.execute(_tables_sql())
    con.execute(
        "insert into meta values ('schema_version', ?), ('outbox_op', '0'), ('outbox_pruned', '0')",
        [str(steps.VERSION)],
    )
    con.execute("commit")


def _carry_over(con: duckdb.DuckDBPyConnection, version: int) -> None:
    """Migrate the tables in one transaction: a crash leaves the old tables or the new ones."""
    wanted = steps.steps_from(version)
    if wanted is None:
        raise Older(f"was made by an older version of this program (tables {version})")
    log.info("carrying the catalogue over", version=version, to=steps.VERSION)
    con.execute("begin")
    # DuckDB compiles a view's columns when it is made; tables.sql makes all of them again.
    for view in _names(con, "views", "view_name"):
        con.execute(f'drop view "{view}"')
    for number, step in enumerate(wanted, version + 1):
        _take(con, number, step)
    con.execute(_tables_sql())
    con.execute("update meta set value = ? where name = 'schema_version'", [str(steps.VERSION)])
    con.execute("commit")
    # So that no later start has to read changed tables from the log.
    con.execute("checkpoint")
    log.info("carried the catalogue over", version=version, to=steps.VERSION)


def _take(con: duckdb.DuckDBPyConnection, number: int, step: Step) -> None:
    for done, statement in enumerate(step):
        log.info("carrying the catalogue over", to=number, statements_done=done, of=len(step))
        con.execute(statement)


def _columns(con: duckdb.DuckDBPyConnection) -> frozenset[Column]:
    query = """
        with tables as (select table_oid from duckdb_tables())
        select if(table_oid in (from tables), 'table', 'view'), table_name, column_name
        from duckdb_columns() where not internal
    """
    return frozenset(con.execute(query).fetchall())


@functools.cache
def _expected() -> frozenset[Column]:
    with duckdb.connect() as con:
        con.execute(_tables_sql())
        return _columns(con)


def _tables_sql() -> str:
    return resources.files("schemas").joinpath("tables.sql").read_text()


def _names(con: duckdb.DuckDBPyConnection, kind: str, name: str) -> list[str]:
    found = con.execute(_RELATIONS.format(kind=kind, name=name)).fetchall()
    return [value for (value,) in found]
