"""Data files of an Iceberg table: read and written as streams, so that none is in memory whole."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import parquet_file_to_data_file
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

FILE_BYTES: Final = 64 << 20  # a file that has more is closed
GROUP_BYTES: Final = 8 << 20  # of a row group before compression, which is held in memory until it is written


def list_files(table: Table) -> list[DataFile]:
    """The files of the newest snapshot. They hold its rows and nothing else: no deletes are beside them."""
    return [task.file for task in table.scan().plan_files()]


def read_groups(table: Table, file: DataFile, columns: Sequence[str]) -> Iterator[pa.Table]:
    """These columns of a file, a row group at a time."""
    with table.io.new_input(file.file_path).open() as source:
        parquet = pq.ParquetFile(source, pre_buffer=False)
        for number in range(parquet.num_row_groups):
            yield parquet.read_row_group(number, list(columns), use_threads=False)


def write_files(table: Table, batches: Iterable[pa.RecordBatch]) -> list[DataFile]:
    """Write rows into as many new files as they need; none without rows. They belong to no snapshot yet."""
    written, groups = [], _group(batches)
    for group in groups:
        path = table.location_provider().new_data_location(f"{uuid4()}.parquet")
        _write_file(table, path, group, groups)
        written.append(parquet_file_to_data_file(table.io, table.metadata, path))
    return written


def _write_file(table: Table, path: str, first: pa.Table, more: Iterator[pa.Table]) -> None:
    schema = table.schema().as_arrow()  # with the columns' ids, by which engines find them
    with (
        table.io.new_output(path).create() as sink,
        pq.ParquetWriter(sink, schema, compression="zstd", store_decimal_as_integer=True) as writer,
    ):
        group: pa.Table | None = first
        while group is not None:
            writer.write_table(group.cast(schema))
            group = next(more, None) if sink.tell() < FILE_BYTES else None


def _group(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
        if sum(one.nbytes for one in held) >= GROUP_BYTES:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)
