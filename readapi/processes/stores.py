"""The read-only stores of a worker, reopened when the indexer publishes new versions, and the takedowns."""

import asyncio
import time

from readapi.index.folders import FOLLOW_SECONDS
from readapi.index.indexer_client import IndexerStatus
from readapi.index.lookups import Index
from readapi.index.snapshots import interface as snapshots
from readapi.index.snapshots.remote import RemoteSnapshots
from readapi.index.takedowns import StandingTakedowns
from readapi.metrics import Metrics
from readapi.processes.periodic import Step, repeat, run_once
from schemas import data_folder
from schemas.settings import Settings
from schemas.takedowns import LOOK_SECONDS

STATUS_SECONDS = 1.0


class Stores:
    """The search index, snapshots, their series, the indexer's status. None of them needs to exist yet."""

    def __init__(self, settings: Settings) -> None:
        self.takedowns = StandingTakedowns()
        self.index = Index(settings.data_dir, settings.base_url, self.takedowns)
        self.catalog = RemoteSnapshots(settings, data_folder.NEWEST_SNAPSHOT)
        self.series = RemoteSnapshots(settings, data_folder.NEWEST_SERIES)
        self.indexer = IndexerStatus(settings.data_dir)
        self._settings = settings
        self._followers: list[asyncio.Task[None]] = []

    def version(self) -> object:
        """Changes whenever responses may change: also every minute, because periods are relative to now."""
        return (
            self.index.generation,
            self.catalog.version,
            self.series.version,
            self.takedowns.number,
            int(time.time()) // 60,
        )

    async def open(self) -> None:
        """Open the stores, and follow them until `close`. Raises Away while the state cannot be read."""
        await self.takedowns.open(self._settings)
        steps: tuple[tuple[float, Step], ...] = (
            (FOLLOW_SECONDS, self.index.follow),
            (snapshots.LOOK_SECONDS, self.catalog.refresh),
            (snapshots.LOOK_SECONDS, self.series.refresh),
            (STATUS_SECONDS, self.indexer.refresh),
            (LOOK_SECONDS, self.takedowns.refresh),
        )
        for seconds, step in steps:
            await run_once(step)
            self._followers.append(asyncio.create_task(repeat(seconds, step)))

    async def close(self) -> None:
        """Stop following the stores and close them."""
        for follower in self._followers:
            follower.cancel()
        await asyncio.gather(*self._followers, return_exceptions=True)
        await self.catalog.close()
        await self.series.close()
        await self.takedowns.close()

    def watch(self, metrics: Metrics) -> None:
        """Register the stores' metrics."""
        metrics.watch("fmsvc_index_generation", "Version of the index read.", lambda: self.index.generation)
        metrics.watch("fmsvc_index_documents", "Documents in the index.", lambda: self.index.documents)
        self.catalog.watch(metrics)
        self.takedowns.watch(metrics)
        metrics.watch(
            "fmsvc_index_lag_seconds", "How far answers are behind.", lambda: self.indexer.lag_seconds or 0.0
        )
