"""Recordings: how fast one is sent, beside aiohttp's own FileResponse, and how soon it begins."""

import asyncio
import hashlib
import http.client
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from indexer.catalog.published.snapshots import Snapshots
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.search.index import SearchIndex
from readapi.audio.store import AudioStore
from readapi.state.publishing.file_keys import original_key
from readapi.state.publishing.managed_audio import Managed
from readapi.state.state import open_state
from schemas import data_folder
from schemas.audio import audio_address
from schemas.ids import record_id
from schemas.settings import Settings
from tests.bench import machine, stores
from tests.bench.rows import Row, rounded
from tests.indexer.changes import put, uri
from tests.network.server import free_port

NAME: Final = "GET /tracks/{id}/stream, one connection"
START_P99: Final = "GET /tracks/{id}/stream, first byte of a part, p99"
REFERENCE: Final = "aiohttp's FileResponse"

_PART: Final = 64 << 10
_PIECE: Final = 1 << 20
_MEGA: Final = 1e6


@dataclass(frozen=True, slots=True)
class Effort:
    """How long the recording is, and how often it is asked for."""

    file_bytes: int = 64 << 20
    turns: int = 7
    starts: int = 1000


def rows(effort: Effort, scratch: Path) -> Iterator[Row]:
    """Megabytes a second of a whole recording, in turns with the reference; milliseconds to a first byte."""
    folder, port, reference_port = scratch / "recordings", free_port(), free_port()
    settings = stores.settings_of(folder, public_url=stores.BASE_URL)
    path, file = asyncio.run(prepare(settings, effort.file_bytes))
    core, _ = machine.cores()
    variables = {"FMSVC_DATA_DIR": str(folder), "FMSVC_PUBLIC_URL": stores.BASE_URL, "FMSVC_PORT": str(port)}
    variables |= {"FMSVC_RATE_LIMIT": stores.NOBODY_IS_REFUSED}
    reference = ["-m", "tests.bench.file_reference", str(reference_port), str(file)]
    ours_log, reference_log = scratch / "stream.log", scratch / "file_reference.log"
    with (
        machine.program(["-m", "readapi", "api"], variables, core, ours_log) as ours,
        machine.program(reference, {}, core, reference_log) as theirs,
    ):
        machine.until_answers(f"http://127.0.0.1:{port}/health", ours, ours_log)
        machine.until_answers(f"http://127.0.0.1:{reference_port}/", theirs, reference_log)
        turns = [(_sent(port, path), _sent(reference_port, "/")) for _ in range(effort.turns)]
        waits = _waits(port, path, effort.starts)
    rate = median(one for one, _ in turns)
    ratio = rate / median(one for _, one in turns)
    yield Row(NAME, rounded(rate / _MEGA), "MB/s", {REFERENCE: rounded(ratio)})
    yield Row(START_P99, rounded(quantiles(waits, n=100)[98] * 1000), "ms")


async def prepare(settings: Settings, length: int) -> tuple[str, Path]:
    """One track with its recording in the store; where it is heard, and the file."""
    content, track = os.urandom(length), uri("mara", "track", 1)
    file_id = hashlib.sha256(content).hexdigest()
    arriving = settings.data_dir / "arriving"
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    arriving.write_bytes(content)
    store = AudioStore.of(settings)
    await store.put(original_key(file_id), arriving)
    async with open_state(settings) as state:
        await state.managed_audio.put(
            Managed(str(track), track.did, file_id, "flac", "audio/flac", length, 60, None)
        )
    writer = Writer.open(settings)
    where = audio_address(settings.base_url, file_id)
    writer.write(Batch(changes=[put("mara", "track", 1, at=1, fileType="flac", audioUrl=where)]))
    index = SearchIndex.open(settings.data_dir / data_folder.SEARCH, settings.base_url)
    with writer.reader() as con:
        while index.follow(con) < writer.op:
            pass
    index.close()
    Snapshots(settings, writer).publish()
    writer.close()
    path = store.path(original_key(file_id))
    assert path is not None
    return f"/tracks/{record_id(str(track))}/stream", path


def _sent(port: int, path: str) -> float:
    """Bytes a second of the whole."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    started, received = time.perf_counter(), 0
    connection.request("GET", path)
    answer, room = connection.getresponse(), bytearray(_PIECE)
    while count := answer.readinto(room):
        received += count
    connection.close()
    return received / (time.perf_counter() - started)


def _waits(port: int, path: str, count: int) -> list[float]:
    """Seconds from asking for a part to its first byte."""
    connection, waits = http.client.HTTPConnection("127.0.0.1", port), []
    for number in range(count):
        start = number * 7919 * 64 % (8 << 20)
        begun = time.perf_counter()
        connection.request("GET", path, headers={"Range": f"bytes={start}-{start + _PART - 1}"})
        answer = connection.getresponse()
        answer.read(1)
        waits.append(time.perf_counter() - begun)
        answer.read()
    connection.close()
    return waits
