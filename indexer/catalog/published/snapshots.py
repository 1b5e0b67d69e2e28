"""Snapshots: read-only copies of the catalogue for other processes; and when series and exports are due.

A checkpoint moves everything into the file, and no other checkpoint may follow while the file is copied; the
writer goes on writing to its log meanwhile. Snapshots without readers are pruned.

Series, exports and Iceberg tables are derived from the newest snapshot. That takes from seconds to minutes of
a core, so it is done at a low priority and beside the next snapshots; the one that is read is not pruned.
"""

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import structlog
from prometheus_client import Counter

from indexer.catalog.published.exports import Exports
from indexer.catalog.published.files import number_of, numbered, point, prune, replacing
from indexer.catalog.published.iceberg.process import IcebergProcess
from indexer.catalog.published.series import Series
from indexer.catalog.published.work_database import WorkDatabase
from indexer.catalog.store_errors import explain_errors, no_room
from indexer.catalog.writing.writer import Writer
from indexer.faults import StoreError
from schemas import data_folder
from schemas.api.exports import Manifest
from schemas.settings import Settings

PATIENCE_SECONDS: Final = 5.0  # how long readers may prevent a checkpoint
RETRY_SECONDS: Final = 10.0  # after a snapshot or an export that failed
_FICLONE: Final = 0x40049409  # ioctl_ficlone(2), which XFS and Btrfs have

FAILED = Counter(
    "fmsvc_snapshots_failed",
    "Snapshots, series, exports and Iceberg tables that could not be written.",
    ["what"],
)

log = structlog.get_logger()


class Snapshots:
    """The folder `snapshots`.

    `begin` is called on the writer's thread, `publish_due` on a second one, and `derive_due` on a third.
    """

    def __init__(
        self, settings: Settings, writer: Writer, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.folder = settings.data_dir / data_folder.SNAPSHOTS
        self.current = settings.data_dir / data_folder.NEWEST_SNAPSHOT  # a link to the newest snapshot
        self.published_at: float | None = None  # by the wall clock
        self._writer = writer
        self._clock = clock
        self._least_seconds = settings.snapshot_seconds
        self._share = settings.snapshot_share
        self._parquet_seconds = settings.parquet_seconds
        self._changes = -1
        self._next = self._begun = self._next_export = self._opened_at = clock()
        self._hindered_since: float | None = None
        self._derived_from: Path | None = None  # the snapshot that is being read by `derive_due`
        self._failures: dict[str, str] = {}
        with explain_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            for leftover in self.folder.glob("*.partial"):
                leftover.unlink()
            shutil.rmtree(self.folder / "parquet", ignore_errors=True)  # exports of earlier versions
        self._work = WorkDatabase()
        self.exports = Exports(settings, self._work)
        self.iceberg = IcebergProcess(settings)
        self._is_young = self.exports.is_empty
        if settings.iceberg:
            with self._tried("export"):
                self.iceberg.want(self.exports.read_manifest().number)
        self._awaits_catch_up = self._is_young
        self._series = Series(settings, self._work)
        self._next_series = clock()
        self._first_exported = 0  # the number of the first snapshot of which an export may be made
        if self._is_young:
            self._next_export += self._parquet_seconds
        self._number = max(map(number_of, numbered(self.folder, "catalog")), default=0)

    @property
    def due(self) -> bool:
        """True when the catalogue has changed since the last snapshot, and the pause after it is over."""
        return self._writer.changes != self._changes and self._clock() >= self._next

    @property
    def failures(self) -> list[str]:
        """Why the newest snapshot or export is outdated: a sentence each; empty when both are current."""
        return list(self._failures.values())

    def publish_due(self, freeze: Callable[[], bool]) -> None:
        """Publish a snapshot if it is due. A failure is logged, counted, and tried again.

        `freeze` calls `begin` on the writer's thread. Raises StoreError when the catalogue is given up.
        """
        if self.due and self._has_room() and freeze():
            with self._tried("snapshot"):
                self.finish()

    @property
    def derivation_due(self) -> bool:
        """True when `derive_due` has something to do."""
        return self.export_due or self.series_due or self.iceberg.has_ended or self.iceberg.is_due

    def derive_due(self) -> None:
        """Make series, an export and Iceberg tables, each if due. A failure is treated as above."""
        if self.export_due:  # counts series as well
            with self._tried("export"):
                self.export()
        if self.series_due:
            with self._tried("series"):
                self.count_series()
        if self.iceberg.has_ended:
            with self._tried("iceberg"):
                self.iceberg.finish()
        if self.iceberg.is_due:
            self.iceberg.start()

    def begin(self) -> bool:
        """Freeze the file. False when a reader or an unfinished copy prevents it: try again."""
        if not self._writer.copying.acquire(blocking=False):
            return False
        self._begun = self._clock()
        try:
            frozen = self._writer.checkpoint(patient=self._hindered_seconds > PATIENCE_SECONDS)
        except BaseException:
            self._writer.copying.release()
            raise
        if frozen:
            self._number += 1
            self._changes, self._hindered_since = self._writer.changes, None
        else:
            self._hindered_since = self._hindered_since or self._begun
            self._writer.copying.release()
        return frozen

    def finish(self) -> Path:
        """Copy the frozen file, make the copy the current snapshot, and prune. Raises StoreError."""
        snapshot = self.folder / f"catalog-{self._number}.duckdb"
        try:
            with replacing(snapshot) as partial:
                copy_file(self._writer.descriptor, partial)
        except BaseException:
            self._changes = -1
            raise
        finally:
            self._writer.copying.release()
            self._next = self._clock() + self._pause(self._clock() - self._begun)
        point(self.current, snapshot)
        self.published_at = time.time()
        self.prune()
        return snapshot

    def publish(self) -> Path | None:
        """Begin and finish a snapshot, and count its series. None when it cannot begin now."""
        if not self.begin():
            return None
        snapshot = self.finish()
        self.count_series()
        return snapshot

    @property
    def series_due(self) -> bool:
        """True when the newest snapshot is newer than the series, and the pause after these is over."""
        is_behind = self.current.exists() and not self._series.are_of(self.current)
        return is_behind and self._clock() >= self._next_series

    def count_series(self) -> None:
        """Count the newest snapshot's records by the day. Raises StoreError."""
        with self._newest_kept() as snapshot:
            self._count_series(snapshot)

    def prune(self) -> None:
        """Remove snapshots that no process has open, but for the newest two, which may be opened soon."""
        prune(self.folder, "catalog", kept=self._derived_from)

    def caught_up(self) -> None:
        """Note that the catalogue has caught up with the network. The first export waits for this.

        It is made of the next snapshot, unless the last one is current. From then on the time between exports
        doubles up to the setting: a young catalogue grows fast.
        """
        if self._awaits_catch_up:
            self._awaits_catch_up = False
            is_newest = self._writer.changes == self._changes
            self._first_exported = self._number if is_newest else self._number + 1
            self._next_export = self._clock()

    @property
    def export_due(self) -> bool:
        """True when the next Parquet export is due."""
        if self._parquet_seconds <= 0 or self._clock() < self._next_export or not self.current.exists():
            return False
        return number_of(self.current.resolve()) >= self._first_exported

    def export(self) -> Manifest:
        """Export the tables of the newest snapshot, whose series are counted before. Raises StoreError."""
        self._next_export = self._clock() + self._export_pause
        with self._newest_kept() as snapshot:
            if not self._series.are_of(snapshot):
                self._count_series(snapshot)
            manifest = self.exports.make(snapshot, self._series.newest.resolve(), datetime.now(UTC))
        self.iceberg.want(manifest.number)
        return manifest

    def interrupt(self) -> None:
        """Have a statement of `derive_due` raise duckdb.InterruptException. Called on another thread."""
        self._work.interrupt()

    def close(self) -> None:
        """Stop what runs beside."""
        self.iceberg.close()

    def _count_series(self, snapshot: Path) -> None:
        begun = self._clock()
        self._series.publish(snapshot)
        self._next_series = self._clock() + self._pause(self._clock() - begun)

    @contextmanager
    def _newest_kept(self) -> Iterator[Path]:
        """The newest snapshot, which is not pruned until the block ends."""
        while (snapshot := self.current.resolve()) != self._derived_from:
            self._derived_from = snapshot
        try:
            yield snapshot
        finally:
            self._derived_from = None

    def _has_room(self) -> bool:
        with self._tried("snapshot"):
            if self._writer.has_room_to_copy():
                return True
            raise StoreError(no_room(self.folder))
        return False

    @contextmanager
    def _tried(self, what: str) -> Iterator[None]:
        """Catch and note a failure. The longer the attempt took, the later it is tried again."""
        begun = self._clock()
        try:
            yield
        except StoreError as error:
            FAILED.labels(what).inc()
            log.warning("not published", what=what, reason=str(error))
            self._failures[what] = f"The last {what} could not be written: {error}"
            pause = max(RETRY_SECONDS, self._pause(self._clock() - begun))
            if what == "snapshot":
                self._next = self._clock() + pause
            elif what == "series":
                self._next_series = self._clock() + pause
            elif what == "export":
                self._next_export = self._clock() + min(pause, self._parquet_seconds)
        else:
            self._failures.pop(what, None)

    @property
    def _export_pause(self) -> float:
        if not self._is_young:
            return self._parquet_seconds
        return min(max(RETRY_SECONDS, self._clock() - self._opened_at), self._parquet_seconds)

    @property
    def _hindered_seconds(self) -> float:
        return 0.0 if self._hindered_since is None else self._begun - self._hindered_since

    def _pause(self, spent_seconds: float) -> float:
        return max(self._least_seconds, spent_seconds * (1 / self._share - 1))


def copy_file(descriptor: int, target: Path) -> None:
    """Copy an open file: its list of blocks where two files can share them, else its content."""
    with target.open("wb") as copy:
        with suppress(OSError):
            fcntl.ioctl(copy.fileno(), _FICLONE, descriptor)
            return
        size, done = os.fstat(descriptor).st_size, 0
        while done < size:
            done += os.sendfile(copy.fileno(), descriptor, done, size - done)
