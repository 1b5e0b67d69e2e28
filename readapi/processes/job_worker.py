"""The job worker's process: opens its stores and runs jobs until it is signalled to stop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from prometheus_client import generate_latest

from readapi.audio.blob_cache import FOLDER as BLOBS
from readapi.audio.blob_cache import Blobs
from readapi.audio.decoding import transcode
from readapi.audio.store import AudioStore
from readapi.http import process_metrics
from readapi.index.folders import FOLLOW_SECONDS
from readapi.index.indexer_client import IndexerNudges
from readapi.index.lookups import Index
from readapi.oauth.network import Network
from readapi.pds.refresh_process import RefreshProcess
from readapi.pds.writing import Writing
from readapi.processes import publishing_services
from readapi.processes.account_services import AccountServices
from readapi.processes.background import Background, background
from readapi.processes.periodic import attempt, repeat
from readapi.processes.publishing_services import PublishingDependencies
from readapi.processes.webhooks import deliver_webhooks
from readapi.publishing.originals.references import Originals
from readapi.state.state import open_state
from schemas import heap, stop_signals
from schemas.settings import Settings

log = structlog.get_logger()

SWEEP_SECONDS = 600.0


async def run_job_worker(settings: Settings, network: Network, keeper: RefreshProcess) -> None:
    """Run jobs until SIGTERM or SIGINT; unfinished jobs are left to the next process.

    Raises TaskEnded when one of its tasks ends, so that the supervisor starts it again.
    """
    stop = stop_signals.stop_event()
    async with open_job_worker(settings, network, keeper) as tasks:
        log.info("working", at_once=settings.job_workers)
        if missing := await transcode.missing_limits():
            log.warning("untrusted files are read with fewer sandbox limits than possible", lacks=missing)
        await tasks.until(stop)


@asynccontextmanager
async def open_job_worker(
    settings: Settings, network: Network, keeper: RefreshProcess | None = None
) -> AsyncIterator[Background]:
    """A running job worker, until the block ends, as its background tasks."""
    async with open_state(settings) as state, AccountServices(settings, state, network, keeper) as people:
        index = Index(settings.data_dir, settings.base_url)
        nudges = IndexerNudges(settings.data_dir, index, settings.shown_seconds)
        writing = Writing(people.pds, nudges, settings.collections)
        blobs = Blobs(settings.data_dir / BLOBS, network, settings.audio_cache_bytes)
        given = PublishingDependencies(settings, state, AudioStore.of(settings), people.pds, writing)
        await index.follow()
        sweep = publishing_services.build_sweep(given)
        reconciliation = publishing_services.build_reconciliation(given, blobs, index)
        worker = publishing_services.build_worker(given, blobs, index, network)
        # Report a mismatch when the service starts, and not only at the first sweep.
        checking = asyncio.create_task(attempt(Originals(state, given.store).pairing.check))
        try:
            async with (
                background() as tasks,
                process_metrics.serve_metrics(settings.data_dir, process_metrics.WORK, generate_latest),
            ):
                tasks.start("the index", repeat(FOLLOW_SECONDS, index.follow))
                tasks.start("the sweep", repeat(SWEEP_SECONDS, sweep.sweep))
                tasks.start("the reconciliation", repeat(SWEEP_SECONDS, reconciliation.reconcile))
                tasks.start("the job worker", worker.run())
                if settings.webhooks:
                    tasks.start("the webhooks", deliver_webhooks(settings, state, network))
                tasks.start("the memory", heap.keep_trimming())
                yield tasks
        finally:
            checking.cancel()
            await asyncio.gather(checking, return_exceptions=True)
            await blobs.close()
