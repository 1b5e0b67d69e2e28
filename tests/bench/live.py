"""What it costs a worker to tell many clients of the live feed of a change."""

import asyncio
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from indexer.catalog.writing.writer import Writer
from tests.bench import machine, stores
from tests.bench.rows import Row, rounded
from tests.indexer.changes import put, write
from tests.network.server import free_port

COST: Final = "live feed: CPU of a worker for each delivery"
DELAY: Final = "live feed: from the commit to the last client"

_PAUSE_SECONDS: Final = 0.2  # between two changes, so that each is delivered by itself


@dataclass(frozen=True, slots=True)
class Effort:
    """How many clients there are, half of each protocol, and of how many changes they are told."""

    clients: int = 2000
    changes: int = 30


class _Counting(asyncio.Protocol):
    """A client that counts the changes it is told, without reading them as JSON."""

    told = 0  # by all together

    def __init__(self, number: int) -> None:
        self._number = number

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        upgrade = (
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        )
        address = f"10.{self._number >> 8}.{self._number & 255}.1"
        head = f"GET /live HTTP/1.1\r\nHost: here\r\nX-Forwarded-For: {address}\r\n"
        assert isinstance(transport, asyncio.Transport)
        transport.write(f"{head}{upgrade if self._number % 2 else ''}\r\n".encode())

    def data_received(self, data: bytes) -> None:
        _Counting.told += data.count(b'"kind":"commit"')


def rows(effort: Effort, scratch: Path) -> Iterator[Row]:
    """Microseconds of CPU for each delivery, and milliseconds until the last client has a change."""
    folder, port = scratch / "live", free_port()
    log = scratch / "live.log"
    variables = {
        "FMSVC_DATA_DIR": str(folder), "FMSVC_PUBLIC_URL": stores.BASE_URL, "FMSVC_PORT": str(port),
        "FMSVC_RATE_LIMIT": stores.NOBODY_IS_REFUSED, "FMSVC_TRUSTED_PROXIES": "127.0.0.1",
        "FMSVC_LOG_LEVEL": "error",
    }  # fmt: skip
    with Writer.open(stores.settings_of(folder)) as writer:
        write(writer, put("mara", "track", at=1))
        with machine.program(["-m", "readapi", "api"], variables, None, log) as worker:
            machine.until_answers(f"http://127.0.0.1:{port}/health", worker, log)
            cost, delay = asyncio.run(_measure(port, worker.pid, writer, effort))
    yield Row(COST, rounded(cost * 1e6), "µs")
    yield Row(DELAY, rounded(delay * 1000), "ms")


async def _measure(port: int, pid: int, writer: Writer, effort: Effort) -> tuple[float, float]:
    loop = asyncio.get_running_loop()
    transports = []
    for number in range(effort.clients):
        transport, _ = await loop.create_connection(lambda n=number: _Counting(n), "127.0.0.1", port)  # type: ignore[misc]
        transports.append(transport)
    await asyncio.sleep(1)
    _Counting.told, before, delays = 0, _cpu_seconds(pid), []
    for number in range(effort.changes):
        write(writer, put("mara", "track", number + 2, at=number + 2))
        committed, wanted = time.monotonic(), effort.clients * (number + 1)
        while _Counting.told < wanted:
            await asyncio.sleep(0.005)
            assert time.monotonic() < committed + 60, f"{_Counting.told} of {wanted} deliveries"
        delays.append(time.monotonic() - committed)
        await asyncio.sleep(_PAUSE_SECONDS)
    spent = _cpu_seconds(pid) - before
    for transport in transports:
        transport.abort()
    return spent / (effort.clients * effort.changes), sorted(delays)[len(delays) // 2]


def _cpu_seconds(pid: int) -> float:
    """CPU time of a process and of its threads so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
