"""The process of the job worker: opens what it needs, works until it is told to stop."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from prometheus_client import generate_latest

from readapi import processes
from readapi.audio import renditions
from readapi.audio.blobs import FOLDER as BLOBS
from readapi.audio.blobs import Blobs
from readapi.audio.store import AudioStore
from readapi.index_folders import FOLLOW_SECONDS
from readapi.keeper import Keeper
from readapi.nudges import Nudges
from readapi.oauth.network import Network
from readapi.people import People
from readapi.publishing import parts
from readapi.publishing.originals import Originals
from readapi.publishing.parts import Given
from readapi.repeating import repeat
from readapi.search import Index
from readapi.state.state import open_state
from readapi.writing import Writing
from schemas import heap
from schemas.settings import Settings

log = structlog.get_logger()

SWEEP_SECONDS = 600.0


async def run(settings: Settings, network: Network, keeper: Keeper) -> None:
    """Work until SIGTERM or SIGINT; what is under way then is for the next process."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with working(settings, network, keeper):
        log.info("working", at_once=settings.job_workers)
        if missing := await renditions.missing_limits():
            log.warning("files of strangers are read with less protection than there could be", lacks=missing)
        await stop.wait()


@asynccontextmanager
async def working(settings: Settings, network: Network, keeper: Keeper | None = None) -> AsyncIterator[None]:
    """Work for as long as the block runs."""
    async with open_state(settings) as state, People(settings, state, network, keeper) as people:
        index = Index(settings.data_dir)
        writing = Writing(people.pds, Nudges(settings.data_dir, index), settings.collections)
        blobs = Blobs(settings.data_dir / BLOBS, network, settings.audio_cache_bytes)
        given = Given(settings, state, AudioStore.of(settings), people.pds, writing)
        await index.follow()
        tasks = [
            # What is wrong is told when the service starts, and not only at the first round.
            asyncio.create_task(Originals(state, given.store).pairing.check()),
            asyncio.create_task(repeat(FOLLOW_SECONDS, index.follow)),
            asyncio.create_task(repeat(SWEEP_SECONDS, parts.sweeping(given).sweep)),
            asyncio.create_task(repeat(SWEEP_SECONDS, parts.reconciling(given, blobs, index).reconcile)),
            asyncio.create_task(parts.worker(given, blobs, index, network).run()),
            asyncio.create_task(heap.keep_giving_back()),
        ]
        try:
            async with processes.offering(settings.data_dir, processes.WORK, generate_latest):
                yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await blobs.close()
