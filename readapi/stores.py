"""The stores that a worker reads, and how it follows them."""

import asyncio
import time

from readapi.catalog import Catalog
from readapi.index_folders import FOLLOW_SECONDS
from readapi.indexer_status import IndexerStatus
from readapi.metrics import Metrics
from readapi.repeating import Step, once, repeat
from readapi.search import Index
from schemas.settings import Settings

SNAPSHOT_SECONDS = 0.25
STATUS_SECONDS = 1.0


class Stores:
    """Search index, snapshots, and what the indexer says of itself. None of them needs to exist yet."""

    def __init__(self, settings: Settings) -> None:
        self.index = Index(settings.data_dir)
        self.catalog = Catalog(settings)
        self.indexer = IndexerStatus(settings.data_dir)
        self._followers: list[asyncio.Task[None]] = []

    def version(self) -> object:
        """Changes whenever answers may: with each minute too, because periods end now."""
        return self.index.generation, self.catalog.version, int(time.time()) // 60

    async def open(self) -> None:
        """Look once, then again and again until `close`."""
        steps: tuple[tuple[float, Step], ...] = (
            (FOLLOW_SECONDS, self.index.follow),
            (SNAPSHOT_SECONDS, self.catalog.refresh),
            (STATUS_SECONDS, self.indexer.refresh),
        )
        for seconds, step in steps:
            await once(step)
            self._followers.append(asyncio.create_task(repeat(seconds, step)))

    async def close(self) -> None:
        """Stop following and let go."""
        for follower in self._followers:
            follower.cancel()
        await asyncio.gather(*self._followers, return_exceptions=True)
        self.catalog.close()

    def watch(self, metrics: Metrics) -> None:
        """Let the stores be seen from outside."""
        metrics.watch("fmsvc_index_generation", "Version of the index read.", lambda: self.index.generation)
        metrics.watch("fmsvc_index_documents", "Documents in the index.", lambda: self.index.documents)
        self.catalog.watch(metrics)
        metrics.watch(
            "fmsvc_index_lag_seconds", "How far answers are behind.", lambda: self.indexer.lag_seconds or 0.0
        )
