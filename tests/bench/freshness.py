"""A frame at the relay -> found over HTTP: how long it takes, alone and among a hundred commits a second."""

import asyncio
import contextlib
import gc
import itertools
import random
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from schemas.ids import record_id
from tests.bench import stores
from tests.bench.activity import Activity
from tests.bench.rows import Row, rounded
from tests.network import server
from tests.network.relay import Relay
from tests.network.server import Server

POLL_SECONDS: Final = 0.005
PATIENCE_SECONDS: Final = 60.0
PER_SECOND: Final = 100  # commits of others
IDLE_SECONDS: Final = 1.0  # at most, between two commits when there are no others
PRIVATE: Final = -1  # in place of a number of likes
IDLE_TRACK: Final = "a track's frame at the relay to found by search, idle"
IDLE_LIKE: Final = "a like's frame at the relay to counted on its track, idle"
BUSY_TRACK: Final = f"a track's frame at the relay to found by search, at {PER_SECOND} commits/s"
BUSY_LIKE: Final = f"a like's frame at the relay to counted on its track, at {PER_SECOND} commits/s"
IDLE: Final = (IDLE_TRACK, IDLE_LIKE)
BUSY: Final = (BUSY_TRACK, BUSY_LIKE)


def p50(name: str) -> str:
    """The row of the median."""
    return f"{name}, p50"


def p99(name: str) -> str:
    """The row of what all but one of a hundred keep to."""
    return f"{name}, p99"


def rows(data_dir: Path, scratch: Path, commits: int) -> Iterator[Row]:
    """So many tracks and as many likes, alone and among others."""
    folder = scratch / "freshness"
    try:
        for name, seconds in asyncio.run(_measure(data_dir, folder, commits)).items():
            found = sorted(seconds)
            for row, share in ((p50(name), 0.5), (p99(name), 0.99)):
                yield Row(row, rounded(found[int((len(found) - 1) * share)] * 1000), "ms")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(slots=True)
class Network:
    """People of the store who write, the relay of their commits, and the service that follows it."""

    activity: Activity
    relay: Relay
    service: Server
    _dice: random.Random = field(default_factory=lambda: random.Random(5))
    _seqs: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _titles: Iterator[int] = field(default_factory=itertools.count)
    _sending: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def track(self) -> float:
        """Seconds until a search for a new track's title has it."""
        title = f"freshness{next(self._titles):08d}"
        return await self._seconds_until(
            lambda seq: self.activity.track(seq, title), lambda: self._is_found(title)
        )

    async def like(self) -> float:
        """Seconds until a track that few like has one like more."""
        before = PRIVATE
        while before == PRIVATE:
            subject = self._dice.choice(self.activity.unpopular)
            path = f"/tracks/{record_id(subject.uri)}"
            before = await self._likes(path)

        async def is_counted() -> bool:
            return await self._likes(path) > before

        return await self._seconds_until(lambda seq: self.activity.like(seq, subject), is_counted)

    @asynccontextmanager
    async def busy(self) -> AsyncIterator[None]:
        """Others commit meanwhile, evenly."""
        writing = asyncio.create_task(self._write())
        try:
            yield
        finally:
            writing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await writing

    async def rest(self) -> None:
        """Let a random time pass, so that no sample waits for the pauses that the one before it began."""
        await asyncio.sleep(IDLE_SECONDS * self._dice.uniform(0.5, 1.0))

    async def _write(self) -> None:
        begun, sent = time.monotonic(), 0
        while True:
            due = int((time.monotonic() - begun) * PER_SECOND) - sent
            await self._send(*[self.activity.commit] * due)
            sent += due
            await asyncio.sleep(1 / PER_SECOND)

    async def _send(self, *commits: Callable[[int], bytes]) -> None:
        """Number these and send them before any other."""
        async with self._sending:
            await self.relay.send(*(commit(next(self._seqs)) for commit in commits))

    async def _seconds_until(
        self, commit: Callable[[int], bytes], holds: Callable[[], Awaitable[bool]]
    ) -> float:
        started = time.monotonic()
        await self._send(commit)
        await _until(holds)
        return time.monotonic() - started

    async def _is_found(self, title: str) -> bool:
        status, answer = await self.service.ask("/search/", q=title, type="tracks")
        return status == 200 and any(result["title"] == title for result in answer["results"])

    async def _likes(self, path: str) -> int:
        status, answer = await self.service.ask(path)
        return int(answer["like_count"]) if status == 200 else PRIVATE


async def _until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if await holds():
                return
            await asyncio.sleep(POLL_SECONDS)


@asynccontextmanager
async def _network(data_dir: Path, folder: Path) -> AsyncIterator[Network]:
    async with Relay() as relay:
        stores.copied(data_dir, folder, relay.url)
        chosen: dict[str, Any] = {
            "FMSVC_DATA_DIR": str(folder),
            "FMSVC_RELAY": relay.url,
            "FMSVC_PORT": str(server.free_port()),
            "FMSVC_ALLOW_LOOPBACK": "true",
            "FMSVC_PARQUET_SECONDS": "0",
            "FMSVC_RATE_LIMIT": stores.NOBODY_IS_REFUSED,
            "FMSVC_LOG_LEVEL": "warning",
        }
        async with server.running_server(chosen) as service:

            async def is_ready() -> bool:
                return bool(relay.cursors) and (await service.ask("/ready"))[0] == 200

            await _until(is_ready)
            yield Network(Activity(data_dir), relay, service)


async def _measure(data_dir: Path, folder: Path, commits: int) -> dict[str, list[float]]:
    """Seconds, by what was measured."""
    found: dict[str, list[float]] = {name: [] for name in (*IDLE, *BUSY)}
    async with _network(data_dir, folder) as network:
        await network.track()  # the first finds everything closed yet
        await network.like()
        # Else our own collections, up to half a second, would be measured: all commits stay with the relay.
        gc.collect()
        gc.freeze()
        for _ in range(commits):
            await network.rest()
            found[IDLE_TRACK].append(await network.track())
            await network.rest()
            found[IDLE_LIKE].append(await network.like())
        async with network.busy():
            await network.rest()
            for _ in range(commits):
                found[BUSY_TRACK].append(await network.track())
                found[BUSY_LIKE].append(await network.like())
    gc.unfreeze()
    return found
