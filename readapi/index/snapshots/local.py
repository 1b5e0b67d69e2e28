"""The snapshots that this process has open: the newest answers, or else the one before it."""

import asyncio
import os
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import structlog

from readapi.errors import IndexNotReady
from readapi.index.snapshots.interface import ABSENT, OPENING, UNANSWERED, SnapshotAnswer
from readapi.index.snapshots.messages import FoundRows, Query, State
from readapi.index.snapshots.snapshot import RETRY_SECONDS, OtherSnapshot, Snapshot
from readapi.metrics import ProcessMetrics
from schemas import data_folder
from schemas.settings import Settings

log = structlog.get_logger()


class LocalSnapshots:
    """Follows the newest snapshot, and keeps the last one that answered open as a fallback.

    Queries run one at a time on a thread of their own, each once per snapshot, however many clients need it.
    """

    def __init__(self, settings: Settings, link: str = data_folder.NEWEST_SNAPSHOT) -> None:
        self.unopened = 0  # snapshots that could not be opened, tries counted
        self.failed = 0  # times that a snapshot had no answer
        self.older = 0  # answers that the snapshot before the newest gave instead
        self._link = settings.data_dir / link
        self._memory = settings.query_memory
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="catalog")
        self._newest: Snapshot | None = None
        self._before: Snapshot | None = None
        self._open: set[Snapshot] = set()  # changed by the thread alone
        self.version: str | None = None  # changes whenever answers may
        self.trouble: str | None = OPENING
        self._avoided = ("", 0.0)  # the snapshot that could not be opened, and when it is tried again

    @property
    def state(self) -> State:
        """What is open."""
        return State(self.version, self.as_of, self.trouble)

    @property
    def as_of(self) -> datetime | None:
        """The instant of the newest snapshot; None without one."""
        return self._newest.as_of if self._newest else None

    async def rows(self, sql: str, **values: Any) -> SnapshotAnswer:
        """The rows of a query. Raises IndexNotReady when no snapshot answers it."""
        found = await self.find(Query(sql, values))
        return SnapshotAnswer(found.rows, found.as_of)

    async def find(self, query: Query) -> FoundRows:
        """The same, with the name of the snapshot."""
        tried: list[Snapshot] = []
        while (snapshot := self._untried(tried)) is not None:
            tried.append(snapshot)
            try:
                found = await snapshot.find(query)
            except duckdb.Error:  # the snapshot has logged it
                self.failed += 1
                continue
            self.older += len(tried) > 1
            return found
        raise IndexNotReady(UNANSWERED if tried else self.trouble or UNANSWERED)

    async def refresh(self) -> bool:
        """Switch to a newer snapshot, if there is one. True when there was."""
        try:
            name = os.readlink(self._link)
        except OSError:
            if self.version is None:
                self.trouble = ABSENT
            return False
        avoided, until = self._avoided
        if name == self.version or (name == avoided and time.monotonic() < until):
            return False
        loop = asyncio.get_running_loop()
        try:
            newest = await loop.run_in_executor(self._executor, self._opened, self._link.parent / name)
        except (duckdb.Error, OSError, OtherSnapshot) as error:
            self.unopened += 1
            if self.version is None:
                self.trouble = str(error) if isinstance(error, OtherSnapshot) else UNANSWERED
            self._avoided = name, time.monotonic() + RETRY_SECONDS
            log.warning("snapshot not opened", name=name, answering=self.version, error=str(error)[:200])
            return False
        self._change_over(newest)
        return True

    def close(self) -> None:
        """Close the snapshots and the thread."""
        self._newest = self._before = self.version = None
        for snapshot in tuple(self._open):
            snapshot.end()
        self._executor.submit(self._close_all)
        self._executor.shutdown(wait=True)

    def watch(self, metrics: ProcessMetrics) -> None:
        """Register the counts as metrics."""
        metrics.watch("fmsvc_snapshots_open", "Snapshots held open.", lambda: len(self._open))
        metrics.tally("fmsvc_snapshots_unopened", "Snapshots not opened, tries.", lambda: self.unopened)
        metrics.tally("fmsvc_snapshot_failures", "Times a snapshot did not answer.", lambda: self.failed)
        metrics.tally("fmsvc_snapshot_older_answers", "Answers given by the one before.", lambda: self.older)

    def _untried(self, tried: list[Snapshot]) -> Snapshot | None:
        """The snapshot to query next. Looked up each time: it may have been replaced and closed meanwhile."""
        among = (self._newest, self._before)
        return next((snapshot for snapshot in among if snapshot and snapshot not in tried), None)

    def _change_over(self, newest: Snapshot) -> None:
        """Keep the replaced one to fall back on, unless the one before it is the last that answered."""
        replaced, self._newest, self.version, self.trouble = self._newest, newest, newest.name, None
        if replaced is not None and (replaced.is_proven or self._before is None):
            replaced, self._before = self._before, replaced
        if replaced is not None:
            # After the questions already put to it: the thread takes one after the other.
            self._executor.submit(self._close, replaced)

    def _opened(self, path: Path) -> Snapshot:
        snapshot = Snapshot(self._link, path, self._memory, self._executor)
        self._open.add(snapshot)
        return snapshot

    def _close(self, snapshot: Snapshot) -> None:
        self._open.discard(snapshot)
        snapshot.close()

    def _close_all(self) -> None:
        for snapshot in tuple(self._open):
            self._close(snapshot)
