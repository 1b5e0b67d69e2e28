"""The whole service on the real network: people write to a PDS, and the API is watched until it shows it."""

import asyncio
import itertools
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schemas.collections import Collections
from tests.network import server
from tests.network.pds import Account, Json
from tests.network.server import Server
from tests.network.testnet import Network, Testnet
from tests.patience import PATIENCE_SECONDS

COLLECTIONS = Collections()
MADE = "2026-01-02T03:04:05Z"
POLL_SECONDS = 0.01

Condition = Callable[[int, Any], bool]


@dataclass(slots=True)
class Stage:
    """A network, a server that follows it, and how long each step took to be shown."""

    net: Testnet
    server: Server
    seconds: dict[str, list[float]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    async def person(self, name: str) -> Account:
        """Somebody new, under a handle of their own."""
        return await self.net.pds[0].create_account(f"{name}-{next(self._numbers)}.test")

    async def shows(self, step: str, path: str, condition: Condition, **params: str | int) -> Any:
        """Wait until the API's answer fits, and note how long after the last write's answer that was."""
        started = self.net.pds[0].answered
        while True:
            status, answer = await self.server.ask(path, **params)
            elapsed = time.perf_counter() - started
            if condition(status, answer):
                self.seconds.setdefault(step, []).append(elapsed)
                return answer
            assert status != 500, f"{step}: {path} {params} answers {answer}"
            assert elapsed < PATIENCE_SECONDS, f"{step}: {path} {params} still answers {status} {answer}"
            await asyncio.sleep(POLL_SECONDS)


@asynccontextmanager
async def stage(network: Network, data_dir: Path) -> AsyncIterator[Stage]:
    """Start a server that follows the network, and wait until it is ready."""
    port = server.free_port()
    async with Testnet.connect(network) as net:
        quiet = {"FMSVC_LOG_LEVEL": "warning", "FMSVC_RATE_LIMIT": "1000000/minute"}
        async with server.running_server({**quiet, **server.settings(net, data_dir, port)}) as running:
            made = Stage(net, running)
            await made.shows("start", "/ready", found())
            made.seconds.clear()
            yield made


def found(**fields: object) -> Condition:
    """The object is there, and these of its fields have these values."""
    return lambda status, answer: status == 200 and all(answer[name] == fields[name] for name in fields)


def gone(status: int, answer: Any) -> bool:
    """There is no such thing, as far as anybody may know."""
    return status == 404


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that this share of the values does not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


def track(title: str, **optional: Any) -> Json:
    """A track record."""
    return {"title": title, "artist": "An Artist", "fileType": "mp3", "createdAt": MADE, **optional}
