"""Expires old snapshots of an Iceberg table and removes the files that no snapshot names."""

from datetime import UTC, datetime, timedelta
from typing import Final

from pyarrow.fs import FileSelector, FileSystem, FileType
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table

SNAPSHOTS_KEPT: Final = 24  # so many states; a reader who began with one has that long to finish
UNNAMED_KEPT: Final = timedelta(hours=1)  # files of a run that is under way, or was cut short


def sweep(table: Table) -> int:
    """Keep the newest snapshots, and the files that they name. Returns how many files were removed."""
    old = sorted(table.metadata.snapshots, key=lambda snapshot: snapshot.sequence_number or 0)[
        :-SNAPSHOTS_KEPT
    ]
    if old:
        table.maintenance.expire_snapshots().by_ids([snapshot.snapshot_id for snapshot in old]).commit()
        table.refresh()
    named = {_path(address) for address in _named(table)}
    before = datetime.now(UTC) - UNNAMED_KEPT
    filesystem, folder = _filesystem(table)
    unnamed = [
        found.path
        for found in filesystem.get_file_info(FileSelector(folder, allow_not_found=True, recursive=True))
        if found.type == FileType.File and found.path not in named and found.mtime <= before
    ]
    for path in unnamed:
        filesystem.delete_file(path)
    return len(unnamed)


def _named(table: Table) -> set[str]:
    named = {table.metadata_location, *(entry.metadata_file for entry in table.metadata.metadata_log)}
    manifests: dict[str, ManifestFile] = {}
    for snapshot in table.metadata.snapshots:
        named.add(snapshot.manifest_list)
        manifests |= {manifest.manifest_path: manifest for manifest in snapshot.manifests(table.io)}
    for manifest in manifests.values():
        entries = manifest.fetch_manifest_entry(table.io, discard_deleted=True)
        named |= {entry.data_file.file_path for entry in entries}
    return named | manifests.keys()


def _path(address: str) -> str:
    return str(PyArrowFileIO.parse_location(address)[2])


def _filesystem(table: Table) -> tuple[FileSystem, str]:
    scheme, host, path = PyArrowFileIO.parse_location(table.location())
    assert isinstance(table.io, PyArrowFileIO)
    return table.io.fs_by_scheme(scheme, host), path
