"""Repos that are fetched whole: how fast, how soon they are found, and what a large one takes of memory."""

import asyncio
import functools
import multiprocessing
import resource
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from indexer.network.http.client import Outbound
from indexer.network.http.throttle import HostTurns
from indexer.network.identity.dns import Dns
from indexer.repo import signing_keys
from indexer.sync import fetch as repo_fetch
from indexer.sync.spool import Spools
from schemas.ids import Did
from tests.bench import commits, machine
from tests.bench.corpus import COLLECTIONS
from tests.bench.grown import GrownRepo, records_of
from tests.bench.hosting import Hosted, hosted
from tests.bench.rows import Row, rounded

WHOLE: Final = "records of repos that are fetched in one piece and proven, one core"
SPARSE: Final = "records of repos that are fetched sparsely and proven, one core"
MEMORY: Final = "memory that fetching a repo of 200 MB takes"
COMMITTED: Final = "backfilled records, from an empty start to committed, two cores"
FOUND: Final = "backfilled records, from an empty start to found by search, two cores"
FOUND_BY_CPU: Final = f"{FOUND}, by its CPU time"
RESYNC: Final = "a repo of 10,000 records, from an empty start to found by search"
FLAT_MEGABYTES: Final = 32.0
AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to fetch."""

    repos: int = 100
    records: int = 500
    of_others: int = 500
    large: int = 10_000
    huge_records: int = 400_000
    huge_filling: int = 250


@dataclass(frozen=True, slots=True)
class Fetch:
    """What fetching all repos took, in a process of its own."""

    records: int
    cpu_seconds: float
    grown_megabytes: float


@dataclass(frozen=True, slots=True)
class Way:
    """What it took to take in a network: until every repo was in step, and until all could be found."""

    committed_seconds: float
    seconds: float
    cpu_seconds: float


def rows(effort: Effort, scratch: Path) -> Iterator[Row]:
    """Throughput on both ways, memory, and the way through the whole indexer."""
    for name, others in ((WHOLE, 0), (SPARSE, effort.of_others)):
        with hosted(functools.partial(_people, effort.repos, effort.records, others)) as network:
            fetch = _measured(network, scratch)
        yield Row(name, rounded(fetch.records / fetch.cpu_seconds), "records per CPU second")
    with hosted(functools.partial(_huge, effort), sparse=False) as network:
        fetch = _measured(network, scratch)
    yield Row(MEMORY, rounded(fetch.grown_megabytes), "MB")
    with hosted(functools.partial(_people, effort.repos, effort.records, effort.of_others)) as network:
        way = asyncio.run(_found(network, scratch))
    count = effort.repos * effort.records
    yield Row(COMMITTED, rounded(count / way.committed_seconds), "records/s")
    yield Row(FOUND, rounded(count / way.seconds), "records/s")
    yield Row(FOUND_BY_CPU, rounded(count / way.cpu_seconds), "records per CPU second")
    with hosted(functools.partial(_people, 1, effort.large, effort.large)) as network:
        way = asyncio.run(_found(network, scratch))
    yield Row(RESYNC, rounded(way.seconds), "s")


def _people(count: int, ours: int, others: int) -> Iterable[GrownRepo]:
    return [GrownRepo(f"grown {number}", records_of(number, ours, others)) for number in range(count)]


def _huge(effort: Effort) -> Iterable[GrownRepo]:
    """Of one person who is seldom here."""
    return [GrownRepo("huge", records_of(0, 100, effort.huge_records, effort.huge_filling))]


def _measured(network: Hosted, scratch: Path) -> Fetch:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_fetch_all, (network, scratch))


def _fetch_all(network: Hosted, scratch: Path) -> Fetch:
    url, people = network
    return asyncio.run(_fetch(url, people, scratch))


async def _fetch(url: str, people: list[tuple[str, str, int]], scratch: Path) -> Fetch:
    waiting, records = list(people), 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with Outbound(Dns(), allow_loopback=True) as outbound:
        hosts, spools, started = HostTurns(), Spools(scratch), time.process_time()

        async def work() -> None:
            nonlocal records
            while waiting:
                did, key, _ = waiting.pop()
                async with hosts.turn(url):
                    fetched = await repo_fetch.fetch_repo(
                        outbound,
                        url,
                        Did(did),
                        signing_keys.parse_key(key),
                        COLLECTIONS.all,
                        datetime.now(UTC),
                        spools=spools,
                    )
                records += len(fetched.records)

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        cpu_seconds = time.process_time() - started
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return Fetch(records, cpu_seconds, grown / 1024)


async def _found(network: Hosted, scratch: Path) -> Way:
    """From the start of an indexer that knows nothing until everything can be found."""
    url, people = network
    folder = scratch / "backfill"
    shutil.rmtree(folder, ignore_errors=True)
    variables = {"FMSVC_PLC_URL": url, "FMSVC_ALLOW_LOOPBACK": "true"}
    try:
        relay = url.replace("http", "ws", 1)
        async with commits.running(
            folder, relay, scratch / "backfill.log", core=None, **variables
        ) as indexer:
            cpu, started = machine.cpu_seconds_of_all(indexer.pid), time.monotonic()
            await indexer.in_step(len(people))
            committed = time.monotonic() - started
            await indexer.reached(repos=len(people))
            seconds = time.monotonic() - started
            return Way(committed, seconds, machine.cpu_seconds_of_all(indexer.pid) - cpu)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
