"""One scrape tells of every process."""

import asyncio
import os
import socket
import sys
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from readapi.http import process_metrics
from readapi.http.process_metrics import Processes, merge_metrics
from schemas import data_folder
from schemas.settings import Settings
from tests.patience import PATIENCE_SECONDS

ALL = {"api-1", "api-2", "indexer", "snapshots", "work"}


def test_families_are_merged_and_samples_told_apart() -> None:
    """Whatever their labels hold; a family that one process lacks stays."""
    one = b'# HELP a_total A.\n# TYPE a_total counter\na_total{x="{ \\" }"} 1.0\n'
    two = one + b"# HELP b B.\n# TYPE b gauge\nb 2.0\n"

    families = {family.name: family for family in _families(merge_metrics({"one": one, "two": two}))}

    assert {sample.labels["process"] for sample in families["a"].samples} == {"one", "two"}
    assert {sample.labels["x"] for sample in families["a"].samples} == {'{ " }'}
    assert families["a"].type == "counter"
    assert [(sample.labels, sample.value) for sample in families["b"].samples] == [({"process": "two"}, 2.0)]


async def test_a_process_that_hangs_or_says_too_much_is_down(tmp_path: Path) -> None:
    """It costs the others no more than the patience with it."""
    settings = Settings(data_dir=tmp_path, workers=2)
    long = bytes(process_metrics.MOST_BYTES + 1)
    with socket.socket(socket.AF_UNIX) as hanging:
        hanging.bind(str(tmp_path / data_folder.CONTROL_SOCKET))
        hanging.listen()  # it is connected to, and never answers
        text = await _asked(settings, long)

    assert _up(text) == {"api-1": 1, "api-2": 0, "indexer": 0, "snapshots": 0, "work": 1}
    assert b'b{process="work"} 2.0' in text


async def _asked(settings: Settings, long: bytes) -> bytes:
    folder = settings.data_dir
    async with (
        process_metrics.serve_metrics(folder, "api-2", lambda: long),
        process_metrics.serve_metrics(folder, "work", lambda: b"# HELP b B.\n# TYPE b gauge\nb 2.0\n"),
    ):
        return await Processes(settings, "api-1").text(b"")


@pytest.mark.slow
async def test_one_scrape_tells_of_the_whole_service(tmp_path: Path) -> None:
    """A service of two workers, the indexer and the job worker, asked over TCP as Prometheus asks."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    environment = {
        "FMSVC_DATA_DIR": str(tmp_path), "FMSVC_PORT": str(port), "FMSVC_WORKERS": "2",
        "FMSVC_RELAY": "ws://127.0.0.1:9", "FMSVC_LOG_LEVEL": "error",
    }  # fmt: skip
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "readapi", "serve"),
        env={**os.environ, **environment},
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        text = await _all_up(f"http://127.0.0.1:{port}/metrics")
    finally:
        child.terminate()
        await child.wait()
    labels = {
        family.name: {sample.labels["process"] for sample in family.samples} for family in _families(text)
    }

    assert labels["fmsvc_requests_in_flight"] == {"api-1", "api-2"}
    assert labels["fmsvc_cursor_age_seconds"] == {"indexer"}
    assert labels["fmsvc_snapshots_open"] == {"snapshots"}
    assert labels["process_resident_memory_bytes"] == {"indexer", "work"}


async def _all_up(address: str) -> bytes:
    async with asyncio.timeout(PATIENCE_SECONDS), aiohttp.ClientSession() as client:
        while True:
            try:
                async with client.get(address) as reply:
                    text = await reply.read()
            except aiohttp.ClientError:
                text = b""
            if _up(text) == dict.fromkeys(ALL, 1):
                return text
            await asyncio.sleep(0.1)


def _up(text: bytes) -> dict[str, float]:
    return {
        sample.labels["process"]: sample.value
        for family in _families(text)
        if family.name == "fmsvc_up"
        for sample in family.samples
    }


def _families(text: bytes):  # type: ignore[no-untyped-def]
    return list(text_string_to_metric_families(text.decode()))
