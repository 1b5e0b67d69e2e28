"""Whoever goes away stops what was done for them, and leaves nothing open."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.indexer.changes import album, uri
from tests.indexer.running import until
from tests.readapi.audio.listening import Listening, listening
from tests.readapi.music import public_list_id, track_id

pytestmark = pytest.mark.asyncio(loop_scope="module")

LONG = os.urandom(12_000_000)  # more than the system keeps for somebody who takes nothing
CLIENTS = 10
TRACK = f"/tracks/{track_id('mara', 50)}"
PATHS = (f"{TRACK}/stream", f"{TRACK}/download", f"/albums/{public_list_id('mara', 9)}/archive")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(
    kept_in: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Listening]:
    """A worker with an album of one long recording."""
    async with listening(tmp_path_factory.mktemp("stage"), **kept_in) as stage:
        on_album = album("mara", [uri("mara", "track", 50)], 9, at=2001, name="Harbour")
        await stage.music.add(await stage.song(LONG, "mara", 50), on_album)
        yield stage


async def begin(stage: Listening, path: str) -> asyncio.StreamWriter:
    """Ask, and take no more than the beginning of the answer."""
    host, port = stage.music.address.removeprefix("http://").split(":")
    ours = socket.socket()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    ours.connect((host, int(port)))
    reader, writer = await asyncio.open_connection(sock=ours, limit=1024)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert (await reader.readexactly(100)).startswith(b"HTTP/1.1 200")
    return writer


def held() -> tuple[int, int]:
    """Work under way; files and sockets that are open, but for those of the database, which keeps some."""
    opened = 0
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            opened += "/state.db" not in os.readlink(f"/proc/self/fd/{number}")
    return len(asyncio.all_tasks()), opened


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.slow
async def test_whoever_hangs_up_stops_what_they_are_sent(stage: Listening, path: str) -> None:
    """At once, however slow they were; no task, file or connection is left of it."""
    await stage.music.get("/health")
    tasks, files = held()

    slow = [await begin(stage, path) for _ in range(CLIENTS)]
    busy = held()
    for writer in slow:
        writer.transport.abort()

    assert busy[0] >= tasks + CLIENTS
    await until(lambda: held()[0] <= tasks and held()[1] <= files + 2)
