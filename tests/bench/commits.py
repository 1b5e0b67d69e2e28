"""Commits of ours, from a relay on loopback until both stores have them: the indexer on one core."""

import asyncio
import contextlib
import json
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp

from tests.bench import machine, stores
from tests.bench.activity import Activity
from tests.bench.machine import Memory, ProgramFailed
from tests.bench.rows import Row, rounded
from tests.network.relay import Relay

CAUGHT_UP_SECONDS: Final = 600.0
NAME: Final = "commits of ours, relay to DuckDB and Tantivy, one core"


@dataclass(frozen=True, slots=True)
class Indexer:
    """`fmsvc-server index` in a process of its own, and its control socket."""

    pid: int
    control: aiohttp.ClientSession

    async def health(self) -> dict[str, Any] | None:
        """Its report; None while it does not answer."""
        try:
            async with self.control.get("http://indexer/health") as response:
                report: dict[str, Any] = await response.json()
                return report
        except (aiohttp.ClientError, OSError, json.JSONDecodeError):
            return None

    async def reached(self, seq: int) -> None:
        """Wait until everything up to a frame can be found."""
        async with asyncio.timeout(CAUGHT_UP_SECONDS):
            while True:
                report = await self.health()
                if report and (report["cursor"] or 0) >= seq and report["watermark"] >= report["op"]:
                    return
                await asyncio.sleep(0.02)


def rows(data_dir: Path, scratch: Path, count: int) -> Iterator[Row]:
    """Commits a second, and the memory that the indexer has at the end."""
    folder = stores.copied(data_dir, scratch / "commits")
    try:
        frames = _frames(data_dir, count)
        seconds, cpu, memory = asyncio.run(_measure(folder, scratch / "commits.log", frames))
        yield Row(
            NAME, rounded(count / seconds), "commits/s", {"1,000 commits/s": rounded(count / seconds / 1000)}
        )
        yield Row(f"{NAME}: by CPU time", rounded(count / cpu), "commits per CPU second")
        yield memory_row("memory of the indexer after them", memory)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def idle_memory(scratch: Path) -> Memory:
    """What an indexer of an empty catalogue has: the part that does not grow."""
    folder = scratch / "empty"
    shutil.rmtree(folder, ignore_errors=True)
    _, _, memory = asyncio.run(_measure(folder, scratch / "empty.log", []))
    return memory


def _frames(data_dir: Path, count: int) -> list[bytes]:
    """Signed commits with their proofs, each of one record."""
    activity = Activity(data_dir)
    return [activity.commit(seq) for seq in range(1, count + 1)]


async def _measure(folder: Path, log: Path, frames: list[bytes]) -> tuple[float, float, Memory]:
    """Wall and CPU seconds from the first frame until all can be found; the relay has another core."""
    async with Relay() as relay, running(folder, relay.url, log) as indexer:
        cpu, started = machine.cpu_seconds(indexer.pid), time.monotonic()
        await relay.send(*frames)
        await indexer.reached(len(frames))
        seconds = time.monotonic() - started
        return seconds, machine.cpu_seconds(indexer.pid) - cpu, Memory.of(indexer.pid)


@contextlib.asynccontextmanager
async def running(folder: Path, relay_url: str, log: Path) -> AsyncIterator[Indexer]:
    """An indexer that follows this relay, connected and with nothing to do."""
    core, _ = machine.cores()
    variables = {"FMSVC_DATA_DIR": str(folder), "FMSVC_RELAY": relay_url, "FMSVC_PUBLIC_URL": stores.BASE_URL}
    connector = aiohttp.UnixConnector(str(folder / "control.sock"))
    with machine.program(["-m", "readapi", "index"], variables, core, log) as process:
        async with aiohttp.ClientSession(connector=connector) as control:
            indexer = Indexer(process.pid, control)
            async with asyncio.timeout(machine.START_SECONDS):
                while not ((report := await indexer.health()) and report["source"]["connected"]):
                    if process.poll() is not None:
                        raise ProgramFailed(f"The indexer ended with code {process.returncode}; see {log}.")
                    await asyncio.sleep(0.05)
            yield indexer


def memory_row(name: str, memory: Memory) -> Row:
    """Resident memory, and how much of it is not mapped files."""
    share = {"itself with mapped files": rounded(memory.private / memory.resident)}
    return Row(f"{name}, without mapped files", memory.private, "MB", share)
