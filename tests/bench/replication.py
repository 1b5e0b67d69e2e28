"""What it costs to follow an indexer from another machine: how late a commit is shown there, and bytes."""

import asyncio
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import Final

from prometheus_client import REGISTRY

from indexer.replication.manifest import CURRENT
from indexer.replication.objects import Objects
from indexer.replication.publish.publisher import Publisher
from indexer.repo.changes import RecordChange
from indexer.stores import Stores
from readapi.index.lookups import Index
from schemas import data_folder
from tests.bench import stores
from tests.bench.rows import Row, rounded
from tests.indexer.changes import like, uri, write
from tests.network import server
from tests.network.server import running_server
from tests.patience import PATIENCE_SECONDS
from tests.seaweedfs import prefix_url, running_seaweedfs

LIKES: Final = 50  # of a commit
PAUSE_SECONDS: Final = 0.25
LATE: Final = f"a commit of {LIKES} likes, in the index until a machine that follows shows it"
POLL_SECONDS: Final = 0.005


@dataclass(frozen=True, slots=True)
class _Measured:
    """Sizes in bytes."""

    whole: float
    commit: float
    manifest: float
    snapshot: float
    late_seconds: list[float]


def rows(data_dir: Path, scratch: Path, commits: int) -> Iterator[Row]:
    """Of a copy of the catalogue, through SeaweedFS. The stores are here, the follower is a process."""
    folder = scratch / "replication"
    shutil.rmtree(folder, ignore_errors=True)
    ignored = shutil.ignore_patterns("snapshots", "*.lock", "*.sock")
    shutil.copytree(data_dir, folder / "origin", ignore=ignored)
    (folder / "seaweedfs").mkdir()
    with running_seaweedfs(folder / "seaweedfs") as address:
        found = asyncio.run(_measure(folder, prefix_url(address, "bench"), commits))
    late = quantiles([seconds * 1000 for seconds in found.late_seconds], n=100)
    yield Row(f"{LATE}, p50", rounded(late[49]), "ms")
    yield Row(f"{LATE}, p99", rounded(late[98]), "ms")
    yield Row("the search indexes, published whole", rounded(found.whole / 1e6), "MB")
    yield Row(f"published for a commit of {LIKES} likes", rounded(found.commit / 1e3), "KB")
    yield Row("a manifest", rounded(found.manifest / 1e3), "KB")
    yield Row(f"published for the snapshot after {commits} such commits", rounded(found.snapshot / 1e6), "MB")


async def _measure(folder: Path, url: str, commits: int) -> _Measured:
    settings, objects, node = stores.settings_of(folder / "origin"), Objects.open(url), folder / "node"
    opened, index = Stores.open(settings), Index(node, stores.BASE_URL)
    publisher = Publisher(objects, settings.data_dir, lambda: {"lag_seconds": 0.0}, lambda: True, None, 30.0)
    variables = {
        "FMSVC_DATA_DIR": str(node),
        "FMSVC_PUBLISH_URL": url,
        "FMSVC_LOG_LEVEL": "warning",
        "FMSVC_PORT": str(server.free_port()),
    }
    async with running_server(variables, "follow"):
        running = asyncio.create_task(publisher.run())
        try:
            await asyncio.to_thread(opened.snapshots.publish)
            await _shown(index, await opened.follow())
            await _snapshot_is_there(opened, node)
            whole, blocks, late = _sent("bundles"), _sent("blocks"), []
            for number in range(commits):
                write(opened.writer, *_likes(number))
                op, begun = await opened.follow(), time.perf_counter()
                await _shown(index, op)
                late.append(time.perf_counter() - begun)
                await asyncio.sleep(PAUSE_SECONDS)
            segments = (_sent("bundles") - whole) / commits
            manifest = await objects.find(CURRENT)
            assert manifest is not None
            await asyncio.to_thread(opened.snapshots.publish)
            await _snapshot_is_there(opened, node)
            return _Measured(whole, segments, len(manifest.content), _sent("blocks") - blocks, late)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await opened.close()


def _likes(number: int) -> Iterator[RecordChange]:
    """New likes of one track each."""
    for liker in range(LIKES):
        yield like(f"liker-{liker}", uri(f"artist-{liker}", "track", number), number, at=number + 1)


async def _shown(index: Index, op: int) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while index.op < op:  # another process writes it
            await asyncio.sleep(POLL_SECONDS)
            index.refresh()


async def _snapshot_is_there(opened: Stores, node: Path) -> None:
    newest = opened.snapshots.current.resolve().stem
    link = node / data_folder.NEWEST_SNAPSHOT
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (link.exists() and link.resolve().name.startswith(f"{newest}-")):  # noqa: ASYNC110
            await asyncio.sleep(POLL_SECONDS)


def _sent(what: str) -> float:
    """Bytes that the publisher of this process has sent."""
    return float(REGISTRY.get_sample_value("fmsvc_published_bytes_total", {"what": what}) or 0)
