"""Exports of the open data as Parquet files: all rows, or the changes since the previous export.

Each export is of a numbered state of the tables, which stays in `snapshots/published-N.duckdb`, so that the
next one finds what changed. The manifest is written last: an export that it does not name was never made, and
its files are removed. Files of exports that a manifest ceases to name stay until the next manifest.
"""

import hashlib
import secrets
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Literal

import duckdb
import orjson
from pydantic import ValidationError

from indexer.catalog.published.export_tables import changes_of, write_tables
from indexer.catalog.published.files import point, prune, quoted, replacing, sync
from indexer.catalog.published.work_database import WorkDatabase
from indexer.catalog.store_errors import explain_errors
from indexer.faults import StoreError
from schemas import data_folder, exports
from schemas.api.exports import Export, ExportFile, ExportTable, Manifest, StreamPosition
from schemas.datetimes import render
from schemas.settings import Settings

EXPORT_MEMORY: Final = "256MB"
# Of a row group, which is held in memory until it is whole. By default it is 122,880 rows of any size.
GROUP_BYTES: Final = "16MB"
FULLS_KEPT: Final = 3  # exports of all rows, with the changes from the oldest of them on

Kind = Literal["full", "changes"]


class Exports:
    """The folder `exports`. Used by one thread at a time."""

    def __init__(self, settings: Settings, work: WorkDatabase | None = None) -> None:
        """Raises StoreError."""
        self._work = work or WorkDatabase()
        self.folder = settings.data_dir / data_folder.EXPORTS
        self._path = settings.data_dir / data_folder.EXPORT_MANIFEST
        self._newest = settings.data_dir / data_folder.NEWEST_PUBLISHED
        self._full_seconds = settings.parquet_full_seconds
        self._about = Manifest(
            service=settings.base_url,
            license=settings.export_license,
            contact=settings.export_contact,
            tables=[ExportTable.of(table) for table in exports.TABLES],
            exports=[],
        )
        with explain_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def is_empty(self) -> bool:
        """True before the first export."""
        return not self._path.exists()

    def read_manifest(self) -> Manifest:
        """The manifest; one without exports before the first. Raises StoreError."""
        with explain_errors(self._path):
            if self.is_empty:
                return self._about
            try:
                return Manifest.model_validate_json(self._path.read_bytes())
            except ValidationError as error:
                raise StoreError(
                    f"The manifest {self._path} cannot be read: {error.errors()[0]['msg']}. "
                    f"Remove the folder {self.folder}: its files are made anew."
                ) from error

    def make(self, snapshot: Path, series: Path, made_at: datetime) -> Manifest:
        """Export the tables of a snapshot, of which the series were counted. Raises StoreError.

        Nothing is made of the snapshot that the last export was made of.
        """
        before = self.read_manifest()
        since = datetime.fromtimestamp(snapshot.stat().st_mtime, UTC)
        if before.exports and before.exports[-1].snapshot_at == render(since):
            return before
        self._remove_all_but(before.folders)
        lineage = before.lineage or secrets.token_hex(8)
        state = self._state(before.number + 1)
        with replacing(state) as partial:
            partial.unlink(missing_ok=True)
            try:
                made = self._write(snapshot, series, partial, before, lineage, since, made_at)
            except duckdb.OutOfMemoryException as error:
                raise StoreError(
                    f"The export takes more than the {EXPORT_MEMORY} of memory that it may have; "
                    "the exports made before it stay."
                ) from error
        kept = {"lineage": lineage, "exports": _kept([*before.exports, *made])}
        manifest = self._about.model_copy(update=kept)
        with replacing(self._path) as partial:
            partial.write_bytes(orjson.dumps(manifest.model_dump(), option=orjson.OPT_INDENT_2))
        point(self._newest, state)
        prune(state.parent, "published")
        self._remove_all_but(manifest.folders | before.folders)
        return manifest

    def _write(
        self,
        snapshot: Path,
        series: Path,
        state: Path,
        before: Manifest,
        lineage: str,
        since: datetime,
        made_at: datetime,
    ) -> list[Export]:
        """Write the state, then the files. Returns the exports: of changes, of all rows, or both."""
        last, last_full = self._state(before.number), before.newest_full
        number = before.number + 1
        has_changes = last.exists() and before.exports[-1].schema_version == exports.VERSION
        is_full = (
            not has_changes
            or last_full is None
            or made_at - datetime.fromisoformat(last_full.made_at) >= timedelta(seconds=self._full_seconds)
        )
        # In the order of insertion, row groups would be counted in rows alone, not in bytes.
        aside = Path(f"{state}.tmp")
        with self._work.open(aside, EXPORT_MEMORY, preserve_insertion_order=False) as con:
            con.execute("set TimeZone = 'UTC'")
            _attach(con, snapshot, "catalogue")
            _attach(con, series, "series")
            con.execute(f"attach '{quoted(state)}' as published")
            if has_changes:
                _attach(con, last, "before")
            con.execute("use catalogue")
            write_tables(con, since, is_first=not has_changes)
            kinds: dict[Kind, bool] = {"changes": has_changes, "full": is_full}
            made = [
                Export(
                    kind=kind,
                    number=number,
                    schema_version=exports.VERSION,
                    snapshot_at=render(since),
                    made_at=render(made_at),
                    positions=_positions(con),
                    files=self._files(con, kind, _name(number, kind, made_at, lineage)),
                )
                for kind, is_due in kinds.items()
                if is_due
            ]
            con.execute("use memory")
            con.execute("detach published")
            return made

    def _files(self, con: duckdb.DuckDBPyConnection, kind: Kind, name: str) -> list[ExportFile]:
        partial = self.folder / f"{name}.partial"
        partial.mkdir()
        files = []
        for table in exports.TABLES:
            path = partial / f"{table.name}.parquet"
            rows = f"from published.{table.name}" if kind == "full" else changes_of(table)
            [(written,)] = con.execute(
                f"copy ({rows}) to '{quoted(path)}' "
                f"(format parquet, compression zstd, row_group_size_bytes '{GROUP_BYTES}')"
            ).fetchall()
            if kind == "changes" and not written:
                path.unlink()
                continue
            sync(path)
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            files.append(
                ExportFile(
                    table=table.name,
                    path=f"{name}/{path.name}",
                    rows=written,
                    bytes=path.stat().st_size,
                    sha256=digest,
                )
            )
        sync(partial)
        partial.rename(self.folder / name)
        sync(self.folder)
        return files

    def _state(self, number: int) -> Path:
        return self._newest.with_name(f"published-{number}.duckdb")

    def _remove_all_but(self, kept: set[str]) -> None:
        for folder in self.folder.iterdir():
            if folder.is_dir() and folder.name not in kept:
                shutil.rmtree(folder, ignore_errors=True)


def _name(number: int, kind: Kind, made_at: datetime, lineage: str) -> str:
    """The name of an export's folder. Hardly any other has it: two indexers may count and begin alike."""
    return f"{number:06}-{kind}-{made_at:%Y%m%dT%H%M%SZ}-{lineage[:8]}"


def _kept(made: list[Export]) -> list[Export]:
    """The exports to keep: the oldest kept full export, and everything after it."""
    fulls = [export.number for export in made if export.kind == "full"]
    oldest = fulls[-FULLS_KEPT:][0]
    return [export for export in made if (export.number, export.kind) >= (oldest, "full")]


def _positions(con: duckdb.DuckDBPyConnection) -> list[StreamPosition]:
    found = con.execute("select source, seq, event_time from cursors order by source").fetchall()
    return [StreamPosition(source=source, seq=seq, time=at and render(at)) for source, seq, at in found]


def _attach(con: duckdb.DuckDBPyConnection, path: Path, name: str) -> None:
    con.execute(f"attach '{quoted(path)}' as {name} (read_only)")
