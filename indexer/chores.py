"""What an operator has done to the stores: replayed, recorded, rebuilt, checked. Each is one command."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import duckdb
import orjson

from indexer import audit as audits
from indexer import control, letters, repairs, search
from indexer.catalogue import require, sentences
from indexer.check import Report, inspect
from indexer.check import check as check_catalogue
from indexer.dead_letters import Wanted
from indexer.names import Dns
from indexer.rebuild import rebuild as rebuild_index
from indexer.retrial import Outcome
from indexer.service import Indexer, opened
from indexer.snapshots import CURRENT
from indexer.sources import Source, choice, recorded
from indexer.sources.recorded import Recorded
from indexer.upkeep import AUDIT_PATH
from indexer.writer import Writer
from schemas.settings import Settings

LOOK_SECONDS = 0.5

Progress = Callable[[int], object]
ProgressOf = Callable[[int, int], object]


async def replay(settings: Settings, path: Path, progress: Progress) -> None:
    """Take in a recording. The relay's cursor stays, so that nothing which only the relay has is skipped."""
    source = Recorded(path)
    source.name = f"recording of {source.name}"
    async with opened(settings, source) as indexer, _watched(source, progress):
        await indexer.replay(indexer.pipeline.read())


async def record(
    settings: Settings, path: Path, seconds: float | None, frames: int | None, progress: Progress
) -> None:
    """Write the relay's frames to a file, until either limit."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(resolver=Dns())) as session:
        source = choice.choose(settings, session)
        async with _watched(source, progress):
            await recorded.record(source, path, seconds=seconds, frames=frames)


def rebuild(settings: Settings, progress: ProgressOf) -> None:
    """Make the search index again from the catalogue. Raises StoreError."""
    writer = Writer.open(settings)
    try:
        path = settings.data_dir / search.FOLDER
        rebuild_index(writer.reader(), path, settings.base_url, progress)
    finally:
        writer.close()


def check(settings: Settings) -> Report:
    """Inspect what an indexer that is not running left; of one that runs, its newest snapshot.

    Raises StoreError when a store cannot be opened.
    """
    now = datetime.now(UTC)
    require(settings)
    if control.answers(settings.data_dir):
        newest = settings.data_dir / "snapshots" / CURRENT
        with sentences(newest), duckdb.connect(newest, read_only=True) as con:
            return inspect(con, None, now)
    index = search.SearchIndex.open(settings.data_dir / search.FOLDER, settings.base_url)
    try:
        return check_catalogue(settings, index.watermark, now)
    finally:
        index.close()


async def repair(settings: Settings) -> tuple[str, ...]:
    """Put right what the catalogue derives from its records: by the indexer that runs, else here.

    Returns what was done, in sentences. Raises StoreError or Unanswered.
    """
    if control.answers(settings.data_dir):
        async with (
            control.asking(settings.data_dir) as running,
            running.post(repairs.REPAIR_PATH) as response,
        ):
            return tuple(orjson.loads(await response.read()))
    require(settings)
    with Writer.open(settings) as writer:
        return repairs.repair(writer)


async def replay_letters(settings: Settings, wanted: Wanted, progress: ProgressOf) -> Outcome:
    """Take dead letters in again: by the indexer that runs, else here. Raises StoreError or Unanswered."""
    last = Outcome(0, 0, 0)

    async def follow(outcomes: AsyncIterator[Outcome]) -> None:
        nonlocal last
        async for last in outcomes:
            progress(last.tried, last.total)

    if control.answers(settings.data_dir):
        await follow(letters.replay(settings, wanted))
        return last
    require(settings)
    async with (
        aiohttp.ClientSession() as session,
        opened(settings, choice.choose(settings, session)) as indexer,
    ):
        await indexer.replay(follow(indexer.retrial.run(wanted)))
    return last


async def audit(settings: Settings) -> Counter[audits.Outcome]:
    """Compare every repo with its server and fetch those that differ: by the indexer that runs, else here.

    Returns how many came to what. Raises StoreError or Unanswered.
    """
    if control.answers(settings.data_dir):
        async with control.asking(settings.data_dir) as running, running.post(AUDIT_PATH) as response:
            return Counter(orjson.loads(await response.read()))
    require(settings)
    outcomes: list[Counter[audits.Outcome]] = []

    async def compare(indexer: Indexer) -> None:
        outcomes.append(await indexer.upkeep.audit())

    async with (
        aiohttp.ClientSession() as session,
        opened(settings, choice.choose(settings, session)) as indexer,
    ):
        await indexer.replay(compare(indexer))
    return outcomes[0]


@asynccontextmanager
async def _watched(source: Source, progress: Progress) -> AsyncIterator[None]:
    async def watch() -> None:
        while True:
            progress(source.status.frames)
            await asyncio.sleep(LOOK_SECONDS)

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
        progress(source.status.frames)
