"""A commit at a real PDS -> found by the search: how long it takes, the PDS's own work included."""

import asyncio
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests.bench import stores
from tests.bench.corpus import COLLECTIONS
from tests.bench.records import iso
from tests.bench.rows import Row, rounded
from tests.network import server
from tests.network.pds import Account
from tests.network.server import Server
from tests.network.testnet import Testnet

POLL_SECONDS: Final = 0.005
PATIENCE_SECONDS: Final = 60.0
P50: Final = "PDS commit to found by search, p50"
P99: Final = "PDS commit to found by search, p99"


def rows(data_dir: Path, scratch: Path, commits: int) -> Iterator[Row]:
    """Half of the commits are found within p50, all but one of a hundred within p99."""
    folder = scratch / "freshness"
    try:
        seconds = sorted(asyncio.run(_measure(data_dir, folder, commits)))
        for name, share in ((P50, 0.5), (P99, 0.99)):
            yield Row(name, rounded(seconds[int((len(seconds) - 1) * share)] * 1000), "ms")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _measure(data_dir: Path, folder: Path, commits: int) -> list[float]:
    port = server.free_port()
    async with Testnet.start() as net:
        stores.copied(data_dir, folder, net.pds[0].relay_url)
        chosen = server.settings(net, folder, port) | {
            "FMSVC_RATE_LIMIT": stores.NOBODY_IS_REFUSED,
            "FMSVC_LOG_LEVEL": "warning",
        }
        async with server.running_server(chosen) as service:
            account = await net.pds[0].create_account("bench.test")
            await _seconds_until_found(account, service, "warmup")  # the first finds everything closed yet
            return [
                await _seconds_until_found(account, service, f"{number:06d}") for number in range(commits)
            ]


async def _seconds_until_found(account: Account, service: Server, word: str) -> float:
    """From sending the record to the PDS until a search for its title has it."""
    title, started = f"freshness{word}", time.monotonic()
    record = {"title": title, "artist": "Bench", "fileType": "mp3", "createdAt": iso(datetime.now(UTC))}
    await account.create_record(COLLECTIONS.track, record)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            status, answer = await service.ask("/search/", q=title, type="tracks")
            if status == 200 and any(result["title"] == title for result in answer["results"]):
                return time.monotonic() - started
            await asyncio.sleep(POLL_SECONDS)
