"""Exports of the open data: the manifest of their files."""

from typing import Literal, Self

from pydantic import Field

from schemas import exports
from schemas.api.shape import Count, Shape, Time


class ExportColumn(Shape):
    """A column of a table."""

    name: str
    type: str = Field(description="As DuckDB names it. Times have a timezone, which is UTC.")
    description: str


class ExportTable(Shape):
    """A table. No two rows have the same values in the columns of `key`."""

    name: str
    key: list[str]
    description: str
    columns: list[ExportColumn]

    @classmethod
    def of(cls, table: exports.Table) -> Self:
        """A table as the manifest describes it."""
        columns = [ExportColumn(**column._asdict()) for column in table.columns]
        return cls(name=table.name, key=list(table.key), description=table.description, columns=columns)


class ExportFile(Shape):
    """A Parquet file. It never changes."""

    table: str
    path: str = Field(description="Relative to `/exports/`.")
    rows: Count
    bytes: Count
    sha256: str = Field(pattern="^[0-9a-f]{64}$", description="Hash of the file, in hexadecimal.")


class StreamPosition(Shape):
    """How far a stream of the network was read."""

    source: str
    seq: Count
    time: Time | None = Field(description="Of the last event.")


class Export(Shape):
    """The tables at one state of the catalogue: all rows, or what changed since the state before.

    Rows of `changes` have a further column `change`: `upsert` with the whole row, or `delete` with the key
    alone. A table without changes has no file. All rows of state N, with the changes of N + 1 applied, are
    all rows of state N + 1.
    """

    kind: Literal["full", "changes"]
    number: int = Field(ge=1, description="Of the state; each is one more than the one before.")
    schema_version: int = Field(ge=1)
    snapshot_at: Time = Field(description="When the state was that of the catalogue.")
    made_at: Time
    positions: list[StreamPosition]
    files: list[ExportFile]


class IcebergTable(Shape):
    """An exported table as an Iceberg table."""

    table: str
    metadata: str = Field(description="Its newest metadata file, relative to the warehouse.")


class IcebergTables(Shape):
    """The same tables in Apache Iceberg, which follow the exports."""

    warehouse: str | None = Field(
        description="Address of the folder of all tables; null: on the disk of the service."
    )
    number: int = Field(ge=1, description="Of the state that they hold.")
    snapshot_at: Time = Field(description="When the state was that of the catalogue.")
    tables: list[IcebergTable]


class Manifest(Shape):
    """The exports that can be fetched, the oldest first, and the tables in them."""

    service: str = Field(description="Address of the service that made them.")
    license: str | None = Field(description="Licence of the compiled data; records belong to their authors.")
    contact: str | None = Field(description="Who answers questions.")
    lineage: str | None = Field(
        None,
        description="What the numbers of states belong to. Another one than before: the exports are another "
        "indexer's, or were begun anew; begin with the newest `full`. Null: before the first export.",
    )
    tables: list[ExportTable]
    exports: list[Export]
    iceberg: IcebergTables | None = Field(None, description="Null: the service makes no Iceberg tables.")

    @property
    def number(self) -> int:
        """Of the newest state; 0: there is none."""
        return self.exports[-1].number if self.exports else 0

    @property
    def folders(self) -> set[str]:
        """The folders that hold its files."""
        return {file.path.partition("/")[0] for export in self.exports for file in export.files}

    @property
    def newest_full(self) -> Export | None:
        """The last export of all rows; None: there is none."""
        return next((export for export in reversed(self.exports) if export.kind == "full"), None)
