"""The process that has the catalogue's snapshots open, for all workers: each query costs the machine once."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from readapi.http import process_metrics
from readapi.index.snapshots import server
from readapi.index.snapshots.interface import LOOK_SECONDS
from readapi.index.snapshots.local import LocalSnapshots
from readapi.metrics import ProcessMetrics
from readapi.processes.background import Background, background
from readapi.processes.periodic import attempt, repeat
from schemas import data_folder, heap, stop_signals
from schemas.settings import Settings


async def run_snapshot_reader(settings: Settings) -> None:
    """Answer queries until SIGTERM or SIGINT; those that run are interrupted. Raises Occupied, OSError."""
    stop = stop_signals.stop_event()
    async with open_snapshot_reader(settings) as tasks:
        tasks.start("trim", heap.keep_trimming())
        await tasks.until(stop)


@asynccontextmanager
async def open_snapshot_reader(settings: Settings) -> AsyncIterator[Background]:
    """Queries of the newest snapshot and series are answered on a socket, until the block ends."""
    catalog = LocalSnapshots(settings)
    series = LocalSnapshots(settings, data_folder.NEWEST_SERIES)
    opened = {data_folder.NEWEST_SNAPSHOT: catalog, data_folder.NEWEST_SERIES: series}
    metrics = ProcessMetrics()
    catalog.watch(metrics)
    try:
        async with (
            background() as tasks,
            server.answer_queries(settings.data_dir, opened),
            process_metrics.serve_metrics(settings.data_dir, process_metrics.SNAPSHOTS, metrics.text),
        ):
            for link, followed in opened.items():
                await attempt(followed.refresh)
                tasks.start(f"follow {link}", repeat(LOOK_SECONDS, followed.refresh))
            yield tasks
    finally:
        catalog.close()
        series.close()
