"""A worker, in a process of its own, sends long files to many, and slowly, in little memory."""

import asyncio
import hashlib
import os
import random
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import aiohttp
import pytest
import pytest_asyncio

from readapi.state.publishing.file_keys import original_key
from tests.network.server import free_port
from tests.patience import PATIENCE_SECONDS
from tests.readapi.audio.listening import Listening, listening

pytestmark = pytest.mark.asyncio(loop_scope="module")

LENGTH = int(os.environ.get("FMSVC_TEST_DOWNLOAD_BYTES", 64 << 20))  # 1 GiB in CI
MOST_MEMORY = 300 << 20
READERS = 100
SLOW = 50
PIECE = 1 << 20


class Served(NamedTuple):
    """A worker, and where its long recording is heard."""

    process: Process
    address: str
    path: str

    @property
    def most_memory(self) -> int:
        """Bytes that it ever had in memory at once."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) << 10


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    """Of a recording that is a piece of noise, and nothing else up to its end."""
    async with listening(tmp_path_factory.mktemp("stage")) as stage:
        number = await stage.publish(b"noise", "mara", 50)
        _lengthen(stage)
        port = free_port()
        environment = {
            **os.environ,
            "FMSVC_DATA_DIR": str(stage.music.settings.data_dir),
            "FMSVC_PUBLIC_URL": stage.music.settings.base_url,
            "FMSVC_PORT": str(port),
            "FMSVC_RATE_LIMIT": "1000000/minute",
            "FMSVC_LOG_LEVEL": "error",
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "readapi", "api", env=environment, stdin=asyncio.subprocess.DEVNULL
        )
        try:
            address = f"http://127.0.0.1:{port}"
            await _answers(stage.music.client, f"{address}/health")
            yield Served(process, address, f"/tracks/{number}/stream")
        finally:
            process.terminate()
            await process.wait()


def _lengthen(stage: Listening) -> None:
    """Zeros that take no room on the disk."""
    path = stage.store.path(original_key(hashlib.sha256(b"noise").hexdigest()))
    assert path is not None
    os.truncate(path, LENGTH)


async def _answers(client: aiohttp.ClientSession, url: str) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            try:
                async with client.get(url):
                    return
            except aiohttp.ClientConnectionError:
                await asyncio.sleep(0.1)


@pytest.mark.slow
async def test_a_long_file_is_sent_in_little_memory(served: Served) -> None:
    """All of it, at whatever length."""
    received = 0

    async with aiohttp.ClientSession() as client, client.get(served.address + served.path) as answer:
        async for piece in answer.content.iter_chunked(PIECE):
            received += len(piece)

    assert received == LENGTH
    assert served.most_memory < MOST_MEMORY


async def test_a_hundred_readers_of_parts_are_served_at_once(served: Served) -> None:
    """Each gets its own part, whole."""
    chance = random.Random(1)

    async def read(client: aiohttp.ClientSession) -> None:
        start = chance.randrange(5, LENGTH - 300_000)
        asked = {"Range": f"bytes={start}-{start + 299_999}"}
        async with client.get(served.address + served.path, headers=asked) as answer:
            assert answer.status == 206
            assert answer.headers["Content-Range"] == f"bytes {start}-{start + 299_999}/{LENGTH}"
            assert await answer.read() == bytes(300_000)

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=READERS)) as client:
        await asyncio.gather(*(read(client) for _ in range(READERS)))

    assert served.most_memory < MOST_MEMORY


async def test_slow_clients_hold_little_memory_and_keep_nobody_waiting(served: Served) -> None:
    """Who takes nothing gets nothing; somebody else is answered meanwhile."""
    host, port = served.address.removeprefix("http://").split(":")
    before = served.most_memory

    slow = []
    for _ in range(SLOW):
        reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 10)
        writer.write(f"GET {served.path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        await reader.readexactly(100)
        slow.append(writer)
    asked = {"Range": "bytes=0-4"}
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        aiohttp.ClientSession() as client,
        client.get(served.address + served.path, headers=asked) as answer,
    ):
        assert await answer.read() == b"noise"
    grown = served.most_memory - before
    for writer in slow:
        writer.transport.abort()

    assert grown < SLOW * (512 << 10)
