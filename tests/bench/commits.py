"""Commits of ours, from a relay on loopback until both stores have them: the indexer on one core."""

import asyncio
import contextlib
import json
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import aiohttp

from schemas import data_folder
from tests.bench import machine, stores
from tests.bench.activity import Activity
from tests.bench.machine import Held, Memory, ProgramFailed
from tests.bench.rows import Row, rounded
from tests.network.relay import Relay

CAUGHT_UP_SECONDS: Final = 600.0
POLL_SECONDS: Final = 0.1  # seldom enough that answering costs next to nothing
NAME: Final = "commits of ours, relay to DuckDB and Tantivy, one core"
BY_CPU: Final = f"{NAME}, by its CPU time"
LIKE: Final = "a like, relay to DuckDB and Tantivy, all in all"
START: Final = "the indexer's start, until it follows its relay"


@dataclass(frozen=True, slots=True)
class Indexer:
    """`fmsvc-server index` in a process of its own, and its control socket."""

    pid: int
    control: aiohttp.ClientSession
    start_seconds: float

    async def health(self) -> dict[str, Any] | None:
        """Its report; None while it does not answer."""
        try:
            async with self.control.get("http://indexer/health") as response:
                report: dict[str, Any] = await response.json()
                return report
        except (aiohttp.ClientError, OSError, json.JSONDecodeError):
            return None

    async def held(self) -> Held:
        """Its memory; DuckDB's part has a limit of its own."""
        async with self.control.get("http://indexer/metrics") as response:
            lines = dict(line.rsplit(" ", 1) for line in (await response.text()).splitlines())
        return Held(Memory.of(self.pid), float(lines["fmsvc_duckdb_bytes"]) / 2**20)

    async def published(self) -> None:
        """Wait until there is a snapshot: the first one is due at once, whatever there is to do."""
        await self._until(lambda report: report["snapshot_at"] is not None)

    async def in_step(self, repos: int) -> None:
        """Wait until all of so many repos at least are committed."""
        await self._until(lambda report: _is_in_step(report, repos))

    async def reached(self, seq: int = 0, repos: int = 0) -> None:
        """Wait until all is in step and found: everything up to a frame, and so many repos at least."""
        await self._until(
            lambda report: (
                _is_in_step(report, repos)
                and (report["cursor"] or 0) >= seq
                and report["watermark"] >= report["op"]
            )
        )

    async def _until(self, holds: Callable[[dict[str, Any]], bool]) -> None:
        async with asyncio.timeout(CAUGHT_UP_SECONDS):
            while True:
                report = await self.health()
                if report and holds(report):
                    return
                await asyncio.sleep(POLL_SECONDS)


def _is_in_step(report: dict[str, Any], repos: int) -> bool:
    active: int = report["repos"].get("active", 0)
    return active == sum(report["repos"].values()) and active >= repos


@dataclass(frozen=True, slots=True)
class Run:
    """Seconds of the start; wall and CPU seconds from the first frame until all could be found; memory."""

    start_seconds: float
    seconds: float
    cpu_seconds: float
    before: Held
    after: Held


def rows(run: Run, count: int) -> Iterator[Row]:
    """Commits a second, and the start before them."""
    yield Row(START, rounded(run.start_seconds), "s")
    yield Row(NAME, rounded(count / run.seconds), "commits/s")
    yield Row(BY_CPU, rounded(count / run.cpu_seconds), "commits per CPU second")


def measured(data_dir: Path, scratch: Path, count: int) -> Run:
    """So many signed commits with their proofs, mostly likes, on top of a copy of this catalogue."""
    activity = Activity(data_dir)
    return _taken_in(data_dir, scratch, [activity.commit(seq) for seq in range(1, count + 1)])


def like_row(data_dir: Path, scratch: Path, count: int) -> Row:
    """The CPU time of a like: the share of one in so many."""
    activity = Activity(data_dir)
    run = _taken_in(data_dir, scratch, [activity.any_like(seq) for seq in range(1, count + 1)])
    return Row(LIKE, rounded(run.cpu_seconds / count * 1000), "CPU ms")


def _taken_in(data_dir: Path, scratch: Path, frames: list[bytes]) -> Run:
    try:
        return asyncio.run(_run(data_dir, scratch, frames))
    finally:
        shutil.rmtree(scratch / "commits", ignore_errors=True)


async def _run(data_dir: Path, scratch: Path, frames: list[bytes]) -> Run:
    """An indexer on one core takes in frames that a relay on another has ready."""
    async with contextlib.AsyncExitStack() as stack:
        relay = await stack.enter_async_context(Relay())
        folder = stores.copied(data_dir, scratch / "commits", relay.url)
        log = scratch / "commits.log"
        indexer = await stack.enter_async_context(running(folder, relay.url, log))
        await indexer.reached()
        await indexer.published()
        before, cpu, started = await indexer.held(), machine.cpu_seconds(indexer.pid), time.monotonic()
        await relay.send(*frames)
        await indexer.reached(len(frames))
        seconds, cpu = time.monotonic() - started, machine.cpu_seconds(indexer.pid) - cpu
        return Run(indexer.start_seconds, seconds, cpu, before, await indexer.held())


async def at_rest(folder: Path, log: Path) -> Memory:
    """What an indexer of this folder holds that has nothing to do."""
    async with Relay() as relay, running(folder, relay.url, log) as indexer:
        await indexer.reached()
        return Memory.of(indexer.pid)


@contextlib.asynccontextmanager
async def running(
    folder: Path, relay_url: str, log: Path, core: int | None = machine.cores()[0], **settings: str
) -> AsyncIterator[Indexer]:
    """An indexer that follows this relay, connected and with nothing to do. It exports nothing.

    `core`: the only one that it may use; None: it may use all.
    """
    began = time.monotonic()
    variables = {
        "FMSVC_DATA_DIR": str(folder),
        "FMSVC_RELAY": relay_url,
        "FMSVC_PUBLIC_URL": stores.BASE_URL,
        "FMSVC_PARQUET_SECONDS": "0",
        **settings,
    }
    connector = aiohttp.UnixConnector(str(folder / data_folder.CONTROL_SOCKET))
    with machine.program(["-m", "readapi", "index"], variables, core, log) as process:
        async with aiohttp.ClientSession(connector=connector) as control:
            starting = Indexer(process.pid, control, 0.0)
            async with asyncio.timeout(machine.START_SECONDS):
                while not ((report := await starting.health()) and report["source"]["connected"]):
                    if process.poll() is not None:
                        raise ProgramFailed(f"The indexer ended with code {process.returncode}; see {log}.")
                    await asyncio.sleep(0.05)
            yield replace(starting, start_seconds=time.monotonic() - began)
