"""The stores that only this process writes: catalogue, search index, snapshots, what is derived from these.

Each has its own thread.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime
from threading import Lock
from typing import Final, Self, TypeVar

import duckdb
import structlog

from indexer.catalog.published.snapshots import Snapshots
from indexer.catalog.writing import poison
from indexer.catalog.writing.batch import Batch, BatchResult
from indexer.catalog.writing.writer import Writer
from indexer.priority import thread_aside
from indexer.search.folder import OlderIndex
from indexer.search.index import SearchIndex
from indexer.search.rebuild import Rebuild, remove_leftovers
from schemas import data_folder
from schemas.datetimes import to_utc
from schemas.ids import Did
from schemas.settings import Settings

INTERRUPT_SECONDS: Final = 0.1  # until the next attempt, where no statement ran at that moment

Answer = TypeVar("Answer")

log = structlog.get_logger()


class Stores:
    """Opens all of them or none. Every method raises StoreError when the disk refuses."""

    def __init__(self, writer: Writer, index: SearchIndex | Rebuild, snapshots: Snapshots) -> None:
        self.writer = writer
        self.index = index
        self.snapshots = snapshots
        self._reader = writer.reader()
        self._counting = writer.reader()
        self._writing = ThreadPoolExecutor(1, "writing")
        self._searching = ThreadPoolExecutor(1, "searching")
        self._copying = ThreadPoolExecutor(1, "copying")
        self._deriving = thread_aside("deriving")  # for whose work no client waits
        self._derivation = self._deriving.submit(lambda: None)
        self._reading = Lock()  # held while the search index reads: a checkpoint would wait for it, and spin

    @classmethod
    def open(cls, settings: Settings) -> Self:
        writer = Writer.open(settings)
        try:
            return cls(writer, _index(settings), Snapshots(settings, writer))
        except BaseException:
            writer.close()
            raise

    async def write(self, batch: Batch) -> BatchResult:
        """Commit a batch to the catalogue; parts that cannot be written become dead letters."""
        return await _on(self._writing, lambda: poison.write_without_poison(self.writer, batch))

    @property
    def watermark(self) -> int:
        """The outbox entry up to which the search index is current; -1 while it is being rebuilt."""
        return -1 if isinstance(self.index, Rebuild) else self.index.watermark

    async def follow(self) -> int:
        """Advance the search index, or its rebuild, by one step. Returns the watermark."""
        return await _on(self._searching, self._follow)

    async def prune(self, op: int) -> None:
        """Delete outbox entries that the search index has applied."""
        await _on(self._writing, lambda: self.writer.prune(op))

    async def publish(self) -> None:
        """Publish a snapshot if it is due."""
        if self.snapshots.due:
            await _on(self._copying, self._publish)

    async def derive(self) -> None:
        """Make series, an export and Iceberg tables of the newest snapshot, each if due: up to minutes."""
        if self.snapshots.derivation_due:
            self._derivation = self._deriving.submit(self.snapshots.derive_due)
            await asyncio.wrap_future(self._derivation)

    async def read(self, question: Callable[[duckdb.DuckDBPyConnection], Answer]) -> Answer:
        """Run a query of the catalogue on a reader's thread."""
        return await _on(self._copying, lambda: question(self._counting))

    async def accounts_by_status(self) -> dict[str, int]:
        """The number of accounts by status."""
        query = "select status, count(*) from accounts group by status"
        return dict(await self.read(lambda con: con.execute(query).fetchall()))

    async def identities_before(self, instant: datetime, most: int) -> list[Did]:
        """Visible accounts whose identity was last resolved before the instant, the oldest first."""
        query = (
            "select did from accounts where not stale and resolved_at < ? "
            "and did not in (select did from hidden_accounts) order by resolved_at, did limit ?"
        )
        found = await self.read(lambda con: con.execute(query, [to_utc(instant), most]).fetchall())
        return [did for (did,) in found]

    async def duckdb_bytes(self) -> int:
        """The memory that DuckDB holds."""
        query = "select sum(memory_usage_bytes)::bigint from duckdb_memory()"
        [(held,)] = await self.read(lambda con: con.execute(query).fetchall())
        return int(held)

    async def close(self) -> None:
        """Wait for running work, then close all stores."""
        await asyncio.to_thread(self._close)

    def _follow(self) -> int:
        index = self.index
        with self._reading:
            if isinstance(index, SearchIndex):
                return index.follow(self._reader)
            is_whole = not index.step(self._reader)
        if is_whole:
            self.index = index.finish()
        return self.watermark

    def _publish(self) -> None:
        # One job, so that no other one runs between freezing the file and releasing it.
        self.snapshots.publish_due(self._frozen)

    def _frozen(self) -> bool:
        with self._reading:
            return self._writing.submit(self.snapshots.begin).result()

    def _end_derivation(self) -> None:
        """Give up what is being derived, which may take minutes: the next start makes it anew."""
        while not self._derivation.done():
            self.snapshots.interrupt()
            wait([self._derivation], INTERRUPT_SECONDS)

    def _close(self) -> None:
        self._end_derivation()
        for executor in (self._deriving, self._copying, self._searching, self._writing):
            executor.shutdown(wait=True, cancel_futures=True)
        self.snapshots.close()
        self.index.close()
        self._reader.close()
        self._counting.close()
        self.writer.close()


def _index(settings: Settings) -> SearchIndex | Rebuild:
    path = settings.data_dir / data_folder.SEARCH
    try:
        index = SearchIndex.open(path, settings.base_url)
    except OlderIndex as older:
        log.info("search index of an older version", reason=str(older))
        return Rebuild(path, settings.base_url)
    remove_leftovers(path)
    return index


async def _on(executor: ThreadPoolExecutor, work: Callable[[], Answer]) -> Answer:
    return await asyncio.get_running_loop().run_in_executor(executor, work)
