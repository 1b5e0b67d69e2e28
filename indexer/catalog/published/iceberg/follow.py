"""Brings the Iceberg tables to the newest state of the exports, and tells where they are."""

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import duckdb
import orjson
import pyarrow as pa

from indexer.catalog.published.files import replacing
from indexer.catalog.published.iceberg.apply_export import change_rows, replace_rows
from indexer.catalog.published.iceberg.states import State, list_missing
from indexer.catalog.published.iceberg.sweep import sweep
from indexer.catalog.published.iceberg.warehouse import Place, Warehouse
from indexer.catalog.published.work_database import WorkDatabase
from indexer.faults import StoreError
from schemas import data_folder, exports
from schemas.api.exports import IcebergTable, IcebergTables, Manifest

DUCKDB_MEMORY: Final = "128MB"


def follow_exports(place: Place, described: Sequence[exports.Table] = exports.TABLES) -> int:
    """Apply the exports that each table lacks, then sweep. Returns the number of the state.

    Harmless to repeat: what a table holds is read from its newest snapshot. Raises StoreError when another
    process does the same, and what the libraries raise.
    """
    pa.set_cpu_count(1)
    place.folder.mkdir(parents=True, exist_ok=True)
    with (
        _locked(place.folder / "lock"),
        WorkDatabase().open(place.folder / "temporary", DUCKDB_MEMORY) as con,
    ):
        con.execute("set TimeZone = 'UTC'")
        manifest = Manifest.model_validate_json(
            (Path(place.data_dir) / data_folder.EXPORT_MANIFEST).read_bytes()
        )
        with closing(Warehouse(place)) as warehouse:
            tables = [_follow_table(con, place, warehouse, manifest, table) for table in described]
        _tell(place, manifest, tables)
    return manifest.number


def _follow_table(
    con: duckdb.DuckDBPyConnection,
    place: Place,
    warehouse: Warehouse,
    manifest: Manifest,
    described: exports.Table,
) -> IcebergTable:
    table = warehouse.open_table(described)
    folder = Path(place.data_dir) / data_folder.EXPORTS
    for export in list_missing(manifest, State.of_table(table)):
        paths = {file.table: folder / file.path for file in export.files}
        if export.kind == "full":
            replace_rows(con, table, paths[described.name], State.of(export))
        else:
            change_rows(con, table, described, paths.get(described.name), State.of(export))
    sweep(table)
    return IcebergTable(
        table=described.name, metadata=table.metadata_location.removeprefix(f"{warehouse.address}/")
    )


def _tell(place: Place, manifest: Manifest, tables: list[IcebergTable]) -> None:
    told = IcebergTables(
        warehouse=place.warehouse if place.is_remote else None,
        number=manifest.number,
        snapshot_at=manifest.exports[-1].snapshot_at,
        tables=tables,
    )
    with replacing(Path(place.data_dir) / data_folder.ICEBERG_TABLES) as partial:
        partial.write_bytes(orjson.dumps(told.model_dump()))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Raises StoreError when another process holds the lock: it would remove files that this one writes."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError("Another process writes the Iceberg tables.") from None
        yield
