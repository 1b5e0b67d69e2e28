"""How the service is: alive, ready or why not, counted, described."""

import asyncio
import os
import signal
import socket
import sys

import aiohttp
import pytest

from indexer.catalog.writing.writer import Writer
from indexer.search.rebuild import Rebuild
from schemas import data_folder
from schemas.api.health import Readiness
from schemas.search_index import VERSION, VERSION_FILE
from schemas.settings import Settings
from tests.indexer.running import until
from tests.readapi.music import FRESH, playing, reporting
from tests.readapi.serving import serving


async def test_a_worker_waits_for_its_index(tmp_path):
    """Without stores it lives, says that it is not ready and why, and refuses what needs them."""
    sock = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{sock.getsockname()[1]}"
    settings = Settings(data_dir=tmp_path, log_level="error")
    async with serving(settings, sock), aiohttp.ClientSession() as client:
        async with client.get(f"{address}/health") as health:
            assert (health.status, await health.json()) == (200, {"status": "ok"})
        async with client.get(f"{address}/ready") as ready:
            report = Readiness.model_validate(await ready.json(), strict=False)
        assert ready.status == 503
        assert (report.detail, report.ready, report.index.open) == ("index_not_ready", False, False)
        assert "The search index does not exist yet." in report.reasons
        assert "The indexer does not answer." in report.reasons
        for path in (
            "/tracks/",
            "/tracks/1",
            "/search/?q=song",
            "/stats",
            "/tracks/top",
            "/artists/a.example",
        ):
            async with client.get(address + path) as refused:
                assert (refused.status, (await refused.json())["detail"]) == (503, "index_not_ready"), path
                assert refused.headers["Retry-After"]


async def test_a_worker_waits_for_an_index_of_its_own_version(tmp_path):
    """It says how far the new one is, and changes over by itself when that is whole."""
    async with playing(tmp_path) as music:
        settings = music.settings
    path = tmp_path / data_folder.SEARCH
    for folder in path.iterdir():
        (folder / VERSION_FILE).write_text(str(VERSION - 1))
    sock = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{sock.getsockname()[1]}"

    async with (
        reporting(tmp_path, FRESH),
        serving(settings, sock) as stores,
        aiohttp.ClientSession(address) as client,
    ):
        with Writer.open(settings) as writer, writer.reader() as con:
            async with client.get("/tracks/") as refused:
                before = await refused.json()
            making = Rebuild(path, settings.base_url)
            assert making.step(con)
            percent = f"{100 * making.done // making.total} % is done."
            await until(lambda: percent in stores.index.absence)
            async with client.get("/tracks/") as refused, client.get("/ready") as ready:
                halfway, reasons = await refused.json(), (await ready.json())["reasons"]
                assert (refused.status, ready.status) == (503, 503)
                assert refused.headers["Retry-After"] == "5"
            while making.step(con):
                pass
            making.finish().close()
        await until(lambda: stores.index.is_open)
        async with client.get("/tracks/") as found, client.get("/ready") as ready:
            assert (found.status, ready.status) == (200, 200)
            assert len((await found.json())["tracks"]) > 5

    assert (before["detail"], halfway["detail"]) == ("index_not_ready", "index_not_ready")
    assert "of an older version; the indexer rebuilds it" in before["message"]
    assert halfway["message"] == f"The search index is being rebuilt from the catalogue: {percent}"
    assert reasons == [halfway["message"]]


async def test_a_worker_is_ready_when_its_stores_are_fresh(tmp_path):
    """Index open, snapshot there, lag known and small."""
    async with playing(tmp_path) as music:
        reply = await music.get("/ready")

        report = Readiness.model_validate(reply.json, strict=False)

        assert reply.status == 200, report.reasons
        assert report.ready
        assert report.lag_seconds == 0.5
        assert report.index.documents > 0
        assert report.snapshot.as_of
        assert report.source.name == "wss://relay.example"
        assert (await music.get("/tracks/")).headers["X-Index-Lag"] == "0.500"


async def test_a_relay_that_cannot_be_reached_is_named(tmp_path):
    """With its error, in a sentence, said once; the worker goes on serving."""
    error = "wss://relay.example cannot be reached: Connection refused."
    source = {"name": "wss://relay.example", "connected": False, "error": error, "retry_in": 3}
    async with playing(tmp_path, {"source": source}) as music:
        reply = await music.get("/ready")

        assert reply.status == 503
        assert error in reply.json["reasons"]
        assert reply.json["message"].startswith(error)
        assert (await music.get("/tracks/")).status == 200


async def test_a_worker_counts_what_it_does(tmp_path):
    """Prometheus text."""
    async with playing(tmp_path) as music:
        for _ in range(3):  # the second answer is cached, the third one comes from there
            await music.get("/stats")

        text = (await music.get("/metrics")).json

        assert 'fmsvc_requests_total{process="api-1",route="/stats",status="200"} 3.0' in text
        assert 'fmsvc_cache_hits_total{process="api-1"} 1.0' in text
        assert 'fmsvc_up{process="work"} 0.0' in text
        assert "fmsvc_index_documents" in text


@pytest.mark.slow
async def test_a_worker_stops_in_time_when_told_to(tmp_path):
    """SIGTERM: the process ends by itself, without complaint."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "readapi", "api"),
        env={**os.environ, "FMSVC_DATA_DIR": str(tmp_path), "FMSVC_PORT": str(port := _free_port())},
        stderr=asyncio.subprocess.PIPE,
    )
    await until(lambda: _listens(port))

    child.send_signal(signal.SIGTERM)
    _, said = await asyncio.wait_for(child.communicate(), 5)

    assert child.returncode == 0, said
    assert b"Traceback" not in said


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
