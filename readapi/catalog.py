"""The door to snapshots: the newest one, read-only; each query runs once per snapshot, whoever asks."""

import asyncio
import functools
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import structlog

from readapi.errors import IndexNotReady
from schemas.settings import Settings

log = structlog.get_logger()

Row = tuple[Any, ...]
_MEMORY_AT_REST = "1MB"  # of DuckDB, between two questions
_MOST_ANSWERS = 512


class Snapshot:
    """One published file, and what has been asked of it so far. Its connection lives as long as this does.

    While it answers, DuckDB has so much `memory`; what needs more is put aside on the disk.
    """

    def __init__(self, path: Path, memory: str, executor: ThreadPoolExecutor) -> None:
        self.name = path.name
        self.as_of = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        self._con = duckdb.connect(
            path,
            read_only=True,
            config={
                "memory_limit": _MEMORY_AT_REST,
                "threads": 1,
                # By default all who read the file have the same one, and write over each other's.
                "temp_directory": f"{path}.{os.getpid()}.tmp",
            },
        )
        self._memory = memory
        self._executor = executor
        self._answers: dict[object, asyncio.Future[list[Row]]] = {}

    async def rows(self, sql: str, **values: Any) -> list[Row]:
        """The rows of a query, from memory when the same was asked before."""
        key = (sql, *values.values())
        answer = self._answers.get(key)
        if answer is None:
            if len(self._answers) >= _MOST_ANSWERS:
                self._answers.clear()
            loop = asyncio.get_running_loop()
            answer = self._answers[key] = loop.run_in_executor(self._executor, self._fetch, sql, values)
            answer.add_done_callback(functools.partial(self._forget_failure, key))
        # Shielded: others may wait for the same rows when one client hangs up.
        return await asyncio.shield(answer)

    def _fetch(self, sql: str, values: dict[str, Any]) -> list[Row]:
        self._con.execute(f"set memory_limit = '{self._memory}'")
        try:
            return self._con.execute(sql, values).fetchall()
        finally:
            # DuckDB would keep what it read, which the system has in its own cache anyway.
            self._con.execute(f"set memory_limit = '{_MEMORY_AT_REST}'")

    def _forget_failure(self, key: object, answer: "asyncio.Future[list[Row]]") -> None:
        if answer.cancelled() or answer.exception() is not None:
            self._answers.pop(key, None)


class Catalog:
    """Knows the newest snapshot. Queries run one at a time on a thread of their own."""

    def __init__(self, settings: Settings) -> None:
        self._link = settings.data_dir / "snapshots" / "current"
        self._memory = settings.query_memory
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="catalog")
        self._snapshot: Snapshot | None = None

    @property
    def current(self) -> Snapshot:
        """The newest snapshot. Raises IndexNotReady when none has been published yet."""
        if self._snapshot is None:
            raise IndexNotReady("No snapshot of the catalogue has been published yet; try again in a moment.")
        return self._snapshot

    @property
    def version(self) -> str | None:
        """Changes whenever answers may."""
        return self._snapshot.name if self._snapshot else None

    @property
    def as_of(self) -> datetime | None:
        """The instant that answers tell about; None without a snapshot."""
        return self._snapshot.as_of if self._snapshot else None

    def age_seconds(self, now: Callable[[], float] = time.time) -> float | None:
        """How long ago the snapshot was made; None without one."""
        return max(now() - self._snapshot.as_of.timestamp(), 0.0) if self._snapshot else None

    async def refresh(self) -> bool:
        """Change over to a newer snapshot, if there is one. True when there was."""
        try:
            name = os.readlink(self._link)
        except OSError:
            return False
        if name == self.version:
            return False
        path = self._link.parent / name
        loop = asyncio.get_running_loop()
        try:
            self._snapshot = await loop.run_in_executor(
                self._executor, Snapshot, path, self._memory, self._executor
            )
        except (duckdb.Error, OSError) as error:
            # It may be pruned between reading its name and opening it; the next look finds a newer one.
            log.warning("snapshot not opened", name=name, error=str(error)[:200])
            return False
        return True

    def close(self) -> None:
        """Let go of the snapshot and the thread."""
        self._snapshot = None
        self._executor.shutdown(wait=True)
