"""How long a takedown takes on a whole service of three workers, while its recording is being heard."""

import asyncio
import os
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import aiohttp
import orjson
from aiohttp.connector import AddrInfoType

from tests.bench import machine, stores, streaming
from tests.bench.rows import Row, rounded
from tests.indexer.changes import uri
from tests.network.server import free_port

SENT: Final = "takedown on 3 workers under load: last byte after the decision"
COUNTED: Final = "takedown on 3 workers under load: counts without it after the decision"

_WORKERS: Final = 3
_PIECE: Final = 64 << 10
_PAUSE_SECONDS: Final = 0.05  # of a listener between two pieces
_AFTERWARDS_SECONDS: Final = 2.0
_TRACK: Final = uri("mara", "track", 1)


@dataclass(frozen=True, slots=True)
class Effort:
    """How many clients listen and how many look, and how long the recording is."""

    listeners: int = 30
    lookers: int = 6
    file_bytes: int = 256 << 20


@dataclass(slots=True)
class _Seen:
    """When the clients got something of the track last, by the clock of the log of decisions."""

    at: float = 0.0

    def now(self) -> None:
        self.at = max(self.at, time.time())


def rows(effort: Effort, scratch: Path) -> Iterator[Row]:
    """Milliseconds until no client gets a byte any more, and until the statistics leave the track out."""
    folder, port = scratch / "taken down", free_port()
    settings = stores.settings_of(folder, public_url=stores.BASE_URL)
    path, _ = asyncio.run(streaming.prepare(settings, effort.file_bytes))
    log = scratch / "takedown.log"
    variables = {
        "FMSVC_DATA_DIR": str(folder), "FMSVC_PUBLIC_URL": stores.BASE_URL, "FMSVC_PORT": str(port),
        "FMSVC_RATE_LIMIT": stores.NOBODY_IS_REFUSED, "FMSVC_WORKERS": str(_WORKERS),
        "FMSVC_RELAY": "ws://127.0.0.1:9", "FMSVC_LOG_LEVEL": "error",
    }  # fmt: skip
    with machine.program(["-m", "readapi", "serve"], variables, None, log) as service:
        machine.until_answers(f"http://127.0.0.1:{port}{path.rpartition('/')[0]}", service, log)
        sent, counted = asyncio.run(_measure(f"http://127.0.0.1:{port}", path, effort, variables))
    yield Row(SENT, rounded(sent * 1000), "ms")
    yield Row(COUNTED, rounded(counted * 1000), "ms")


async def _measure(address: str, path: str, effort: Effort, variables: dict[str, str]) -> tuple[float, float]:
    """Seconds from the decision until the last byte of the track, and until it is counted no more."""
    seen, ended = _Seen(), asyncio.Event()
    # Each request has a connection of its own, so that all workers take part.
    connector = aiohttp.TCPConnector(force_close=True, limit=0, socket_factory=_narrow_socket)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(address, connector=connector, timeout=timeout) as client:
        listening = [asyncio.create_task(_listen(client, path, seen)) for _ in range(effort.listeners)]
        looking = [
            asyncio.create_task(_look(client, path.rpartition("/")[0], seen, ended))
            for _ in range(effort.lookers)
        ]
        await asyncio.sleep(1)
        decided_at = await _take_down(variables)
        heard = await asyncio.gather(*listening)
        await _until_uncounted(client)
        counted = time.time() - decided_at
        await asyncio.sleep(_AFTERWARDS_SECONDS)
        ended.set()
        await asyncio.gather(*looking)
    assert all(0 < count < effort.file_bytes for count in heard), "a sending was not cut"
    return seen.at - decided_at, counted


def _narrow_socket(place: AddrInfoType) -> socket.socket:
    """A socket that receives little ahead of its reader: what it has already got counts as sent later."""
    family, kind, protocol, _, _ = place
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _PIECE)
    return made


async def _listen(client: aiohttp.ClientSession, path: str, seen: _Seen) -> int:
    """Listen until the connection ends. How many bytes came."""
    count = 0
    try:
        async with client.get(path) as answer:
            assert answer.status == 200, answer.status
            while piece := await answer.content.read(_PIECE):
                count += len(piece)
                seen.now()
                await asyncio.sleep(_PAUSE_SECONDS)
    except aiohttp.ClientError:
        pass
    return count


async def _look(client: aiohttp.ClientSession, path: str, seen: _Seen, ended: asyncio.Event) -> None:
    """Ask for the track all the time."""
    while not ended.is_set():
        for asked in (path, f"{path}/stream"):
            async with client.get(asked, headers={"Range": "bytes=0-1000"}) as answer:
                if answer.status != 404:
                    assert answer.status in (200, 206), answer.status
                    await answer.read()
                    seen.now()


async def _take_down(variables: dict[str, str]) -> float:
    """Take the track down by the command. When it was decided."""
    await _command(variables, str(_TRACK), "--reason", "A measurement.")
    last = (await _command(variables, "log")).splitlines()[-1]
    decided_at: str = orjson.loads(last)["decided_at"]
    return datetime.fromisoformat(decided_at).timestamp()


async def _command(variables: dict[str, str], *arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "readapi", "takedown", *arguments),
        env={**os.environ, **variables},
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said
    return said.decode()


async def _until_uncounted(client: aiohttp.ClientSession) -> None:
    """Wait until the statistics have no track."""
    while True:
        async with client.get("/stats") as answer:
            if not orjson.loads(await answer.read())["total_tracks"]:
                return
        await asyncio.sleep(0.02)
