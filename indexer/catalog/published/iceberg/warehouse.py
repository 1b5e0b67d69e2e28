"""The catalogue of the Iceberg tables and the place of their files; tables as the exports describe them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import (
    DateType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)

from indexer.faults import StoreError
from schemas import data_folder, exports

CATALOGUE: Final = "fmsvc"
NAMESPACE: Final = "open_data"
METADATA_KEPT: Final = 24  # versions of a table's metadata that are no longer the newest
_PROPERTIES: Final = {
    "format-version": "2",
    "write.parquet.compression-codec": "zstd",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": str(METADATA_KEPT),
}
_TYPES: Final[dict[str, IcebergType]] = {
    "VARCHAR": StringType(),
    "INTEGER": IntegerType(),
    "BIGINT": LongType(),
    "DATE": DateType(),
    "TIMESTAMPTZ": TimestamptzType(),
}
_S3_OPTIONS: Final = {
    "region": "s3.region",
    "endpoint": "s3.endpoint",
    "access_key_id": "s3.access-key-id",
    "secret_access_key": "s3.secret-access-key",
    "session_token": "s3.session-token",
}
_TIMEOUTS: Final = {"s3.connect-timeout": "10", "s3.request-timeout": "60"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where things are, as the process is told. The addresses may hold passwords."""

    data_dir: str
    catalogue_url: str | None
    warehouse_url: str | None

    @property
    def folder(self) -> Path:
        """What is kept in the data folder in any case: the lock, and the names of the newest metadata."""
        return Path(self.data_dir) / data_folder.ICEBERG

    @property
    def warehouse(self) -> str:
        """The address of the folder of all tables, without a slash at its end."""
        if self.warehouse_url is None:
            return (self.folder / "warehouse").as_uri()
        parts = urlsplit(self.warehouse_url)
        if parts.scheme != "s3":
            return Path(self.warehouse_url).resolve().as_uri()
        return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))

    @property
    def is_remote(self) -> bool:
        """True when the tables are on S3."""
        return self.warehouse.startswith("s3:")

    @property
    def file_properties(self) -> dict[str, str]:
        """How the files are reached. Raises StoreError; the AWS_* variables set what the address lacks."""
        given = dict(parse_qsl(urlsplit(self.warehouse_url or "").query)) if self.is_remote else {}
        if unknown := given.keys() - _S3_OPTIONS.keys():
            raise StoreError(
                f"FMSVC_ICEBERG_URL has an option {min(unknown)}; known: {', '.join(_S3_OPTIONS)}."
            )
        return {_S3_OPTIONS[name]: value for name, value in given.items()} | _TIMEOUTS

    @property
    def catalogue(self) -> str:
        """The address of the catalogue's database, as SQLAlchemy reads it."""
        if self.catalogue_url is None:
            return f"sqlite:///{self.folder / 'catalog.db'}"
        return f"postgresql+psycopg://{self.catalogue_url.partition('://')[2]}"


class Warehouse:
    """All tables. `open_table` makes those that are missing."""

    def __init__(self, place: Place) -> None:
        """Raises StoreError, and what the database's driver raises."""
        self.address = place.warehouse
        self._catalogue = SqlCatalog(
            CATALOGUE,
            uri=place.catalogue,
            warehouse=place.warehouse,
            schema_version="v1",
            **{"py-io-impl": f"{PyArrowFileIO.__module__}.{PyArrowFileIO.__name__}"},
            **place.file_properties,
        )
        self._catalogue.create_namespace_if_not_exists(NAMESPACE)

    def close(self) -> None:
        """Close the connections to the catalogue."""
        self._catalogue.close()

    def open_table(self, described: exports.Table) -> Table:
        """Open the table. It is created empty if it is missing, was moved, or has other columns."""
        name, location = (NAMESPACE, described.name), f"{self.address}/{described.name}"
        wanted = make_schema(described)
        try:
            table = self._catalogue.load_table(name)
        except NoSuchTableError:
            pass
        except FileNotFoundError:  # the warehouse was removed, or moved
            self._catalogue.drop_table(name)
        else:
            if table.location() == location and _shape(table.schema()) == _shape(wanted):
                return table
            self._catalogue.drop_table(name)
        return self._catalogue.create_table(name, wanted, location, properties=_PROPERTIES)


def make_schema(described: exports.Table) -> Schema:
    """The columns of an exported table. The catalogue numbers them anew."""
    fields, many = [], len(described.columns)
    for number, column in enumerate(described.columns, 1):
        element, is_list = column.type.removesuffix("[]"), column.type.endswith("[]")
        type_ = _TYPES[element]
        if is_list:
            type_ = ListType(element_id=many + number, element_type=type_, element_required=False)
        fields.append(NestedField(number, column.name, type_, required=False, doc=column.description))
    return Schema(*fields)


def _shape(schema: Schema) -> list[tuple[str, str]]:
    return [(field.name, type(field.field_type).__name__) for field in schema.fields]
