"""The intake: collects a batch while the one before it is written, and decides when each is due."""

import asyncio
import contextlib
import math
import time
from collections.abc import Awaitable, Callable

from prometheus_client import Gauge, Histogram

from indexer.catalog.writing.batch import Batch, BatchResult

IDLE_SECONDS = 1.0  # how often a cursor moves that has nothing to carry
ROW_BYTES = 1024  # what a row costs in memory besides its bytes
HELD_SECONDS = 2.0  # at most, while the search index is at work: longer than a step and its pause under load
AHEAD = 4  # batches' worth of rows that may be read while one is written

BATCH_ROWS = Histogram(
    "fmsvc_batch_rows", "Things stored in one transaction.", buckets=(1, 10, 100, 1000, 10_000)
)
BATCH_SECONDS = Histogram("fmsvc_batch_seconds", "Time that one transaction took to write.")
HELD_BYTES = Gauge("fmsvc_held_bytes", "Bytes read from the network and not yet committed.")


class Intake:
    """Changes put into `batch` without awaiting in between are committed in one transaction.

    A batch is due after `batch_rows`, or `batch_seconds` after the one before it, so after a quiet spell at
    once; also when a caller awaits its commit, and when the intake closes. Every write has a fixed cost, so a
    pause is at least as long as the last write. While a batch is written the next one grows, up to
    `buffer_bytes` for both. `written` is called with each committed batch.

    A batch that is not full and not awaited is held while `is_held`, at most `HELD_SECONDS`: the search index
    is at work then and would take it at its next step only, and a transaction beside a step makes it slower.
    Call `release` when that ends.
    """

    def __init__(
        self,
        write: Callable[[Batch], Awaitable[BatchResult]],
        *,
        batch_rows: int,
        batch_seconds: float,
        buffer_bytes: int,
    ) -> None:
        self._write = write
        self.written: Callable[[Batch, BatchResult], None] = lambda batch, written: None
        self.is_held: Callable[[], bool] = lambda: False
        self._batch_rows = batch_rows
        self._batch_seconds = batch_seconds
        self._buffer_bytes = buffer_bytes
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._closing = False
        self._writing_bytes = 0
        self._writing = False
        self._next_at = -math.inf
        self._begin()

    def _begin(self) -> None:
        self.batch = Batch()
        self._bytes = 0
        self._since: float | None = None
        self._has_rows = False
        self._awaited: asyncio.Future[BatchResult] | None = None
        self._urgent = False

    @property
    def is_empty(self) -> bool:
        """True when everything is committed."""
        return self._since is None and not self._writing

    def _is_full(self, rows: int) -> bool:
        return rows >= self._batch_rows or self._bytes >= self._buffer_bytes // 2

    def added(self, rows: int = 0, size: int = 0) -> None:
        """Call after putting so many things of so many bytes, or only a cursor, into `batch`."""
        if self._since is None:
            self._since = time.monotonic()
            self._changed.set()
        if not rows:
            return
        if not self._has_rows:
            self._has_rows = True
            self._changed.set()
        self._bytes += size + rows * ROW_BYTES
        held_rows, held_bytes = len(self.batch), self._bytes + self._writing_bytes
        if self._is_full(held_rows):
            self._changed.set()
        if held_rows >= AHEAD * self._batch_rows or held_bytes >= self._buffer_bytes:
            self._room.clear()
        HELD_BYTES.set(held_bytes)

    async def room(self) -> None:
        """Wait while too much is uncommitted. Readers of the network wait here, which slows the sender."""
        await self._room.wait()

    async def stored(self) -> BatchResult:
        """Wait until the present `batch` is committed."""
        if self._awaited is None:
            self._awaited = asyncio.get_running_loop().create_future()
            self._changed.set()
        return await asyncio.shield(self._awaited)

    async def committed(self) -> BatchResult:
        """Make the present `batch` due at once, and wait until it is committed."""
        self._urgent = True
        self.added()
        self._changed.set()
        return await self.stored()

    def release(self) -> None:
        """Write what was held."""
        self._changed.set()

    def close(self) -> None:
        """Make the last batch due; `run` ends after it."""
        self._closing = True
        self._changed.set()

    async def run(self) -> None:
        """Write one batch after another. An error of the writer ends it: our own store is at fault."""
        while True:
            await self._until_due()
            if self._since is None:
                return
            batch, awaited = self.batch, self._awaited
            self._writing, self._writing_bytes = True, self._bytes
            self._begin()
            began = time.monotonic()
            try:
                with BATCH_SECONDS.time():
                    written = await self._write(batch)
            except BaseException:
                if awaited is not None:
                    awaited.cancel()
                raise
            BATCH_ROWS.observe(len(batch))
            self._writing, self._writing_bytes = False, 0
            if len(batch):
                now = time.monotonic()
                self._next_at = now + max(self._batch_seconds, now - began)
            self._room.set()
            self.written(batch, written)
            if awaited is not None:
                awaited.set_result(written)

    async def _until_due(self) -> None:
        while (seconds := self._seconds_left()) > 0:
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if math.isinf(seconds) else seconds):
                    await self._changed.wait()

    def _seconds_left(self) -> float:
        if self._closing:
            return 0.0
        if self._since is None:
            return math.inf
        if self._urgent or self._is_full(len(self.batch)):
            return 0.0
        due = self._next_at if self._has_rows else self._since + IDLE_SECONDS
        if self._awaited is None and self.is_held():
            due = max(due, self._since + HELD_SECONDS)
        return due - time.monotonic()
