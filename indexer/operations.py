"""The operator's commands on the stores: replay, record, rebuild, check, repair, audit."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import orjson

from indexer.catalog.database import require_catalogue
from indexer.catalog.store_errors import explain_errors
from indexer.catalog.tables.dead_letters import LetterFilter
from indexer.catalog.writing.writer import Writer
from indexer.control import dead_letters, repairs
from indexer.control.check import CheckReport, check_catalogue, check_live
from indexer.control.replay import ReplayProgress
from indexer.search.index import SearchIndex
from indexer.search.rebuild import rebuild_index
from indexer.service import Indexer, choose_source, open_indexer
from indexer.stream import Source, recording
from indexer.stream.recording import Recorded
from indexer.sync import audit as audits
from indexer.sync.maintenance import AUDIT_PATH
from schemas import control_socket, data_folder
from schemas.settings import Settings

LOOK_SECONDS = 0.5

Progress = Callable[[int], object]
ProgressOf = Callable[[int, int], object]


async def replay_recording(settings: Settings, path: Path, progress: Progress) -> None:
    """Index a recording. The relay's own cursor stays, so that no event that only it has is skipped."""
    source = Recorded(path)
    source.name = f"recording of {source.name}"
    async with open_indexer(settings, source) as indexer, _watched(source, progress):
        await indexer.replay(indexer.pipeline.read())


async def record_stream(
    settings: Settings, path: Path, seconds: float | None, frames: int | None, progress: Progress
) -> None:
    """Write the frames of the relay (or Jetstream) to a file, until either limit."""
    source = choose_source(settings)
    async with _watched(source, progress):
        await recording.record_frames(source, path, seconds=seconds, frames=frames)


def rebuild_search(settings: Settings, progress: ProgressOf) -> None:
    """Rebuild the search index from the catalogue. Raises StoreError."""
    writer = Writer.open(settings)
    try:
        path = settings.data_dir / data_folder.SEARCH
        rebuild_index(writer.reader(), path, settings.base_url, progress)
    finally:
        writer.close()


def check_stores(settings: Settings) -> CheckReport:
    """Inspect the catalogue and the search index; while an indexer runs, its newest snapshot.

    Raises StoreError when a store cannot be opened.
    """
    now = datetime.now(UTC)
    require_catalogue(settings)
    if control_socket.is_listening(_socket(settings)):
        newest = settings.data_dir / data_folder.NEWEST_SNAPSHOT
        with explain_errors(newest), duckdb.connect(newest, read_only=True) as con:
            return check_catalogue(con, None, now)
    index = SearchIndex.open(settings.data_dir / data_folder.SEARCH, settings.base_url)
    try:
        return check_live(settings, index.watermark, now)
    finally:
        index.close()


async def repair_catalogue(settings: Settings) -> tuple[str, ...]:
    """Correct the rows that the catalogue derives from its records: in the running indexer, else here.

    Returns what was corrected, in sentences. Raises StoreError or Unanswered.
    """
    if control_socket.is_listening(_socket(settings)):
        answer = await control_socket.ask(_socket(settings), "POST", repairs.REPAIR_PATH, seconds=None)
        return tuple(orjson.loads(answer.body))
    require_catalogue(settings)
    with Writer.open(settings) as writer:
        return repairs.repair_faults(writer)


async def replay_letters(settings: Settings, wanted: LetterFilter, progress: ProgressOf) -> ReplayProgress:
    """Process dead letters again: in the running indexer, else here. Raises StoreError or Unanswered."""
    last = ReplayProgress(0, 0, 0)

    async def follow(outcomes: AsyncIterator[ReplayProgress]) -> None:
        nonlocal last
        async for last in outcomes:
            progress(last.tried, last.total)

    if control_socket.is_listening(_socket(settings)):
        await follow(dead_letters.replay_letters(settings, wanted))
        return last
    require_catalogue(settings)
    async with open_indexer(settings, choose_source(settings)) as indexer:
        await indexer.replay(follow(indexer.retrial.run(wanted)))
    return last


async def audit_repos(settings: Settings) -> Counter[audits.Outcome]:
    """Compare every repo with its PDS and fetch those that differ: in the running indexer, else here.

    Returns the number of repos by outcome. Raises StoreError or Unanswered.
    """
    if control_socket.is_listening(_socket(settings)):
        answer = await control_socket.ask(_socket(settings), "POST", AUDIT_PATH, seconds=None)
        return Counter(orjson.loads(answer.body))
    require_catalogue(settings)
    outcomes: list[Counter[audits.Outcome]] = []

    async def compare(indexer: Indexer) -> None:
        outcomes.append(await indexer.upkeep.audit())

    async with open_indexer(settings, choose_source(settings)) as indexer:
        await indexer.replay(compare(indexer))
    return outcomes[0]


def _socket(settings: Settings) -> Path:
    return settings.data_dir / data_folder.CONTROL_SOCKET


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
