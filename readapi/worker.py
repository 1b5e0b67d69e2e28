"""One worker process of the API: opens the stores, listens, serves until told to stop."""

import asyncio
import gc
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import structlog
from aiohttp import web

from readapi.access_log import AccessLog
from readapi.app import all_endpoints, build_app
from readapi.catalog import Catalog
from readapi.gate import Gate
from readapi.indexer_status import IndexerStatus
from readapi.metrics import Metrics
from readapi.openapi import Description, describe
from readapi.search import Index
from readapi.server import Runner
from schemas.settings import Settings

log = structlog.get_logger()

INDEX_SECONDS = 0.075
SNAPSHOT_SECONDS = 0.25
STATUS_SECONDS = 1.0
ACCESS_LOG_SECONDS = 0.25
STOP_SECONDS = 3.0
_BACKLOG = 1024


async def run(settings: Settings, sock: socket.socket | None = None) -> None:
    """Serve until SIGTERM or SIGINT; requests under way are finished first."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serving(settings, sock or listen(settings)):
        log.info("serving", address=settings.base_url)
        # What exists by now stays; walking it again and again made most of the slowest answers.
        gc.collect()
        gc.freeze()
        await stop.wait()


def listen(settings: Settings) -> socket.socket:
    """A listening socket that other workers may open beside this one."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        raise SystemExit(f"cannot listen on {settings.host}:{settings.port}: {error.strerror}") from error
    listening.setblocking(False)
    return listening


@asynccontextmanager
async def serving(settings: Settings, sock: socket.socket) -> AsyncIterator[web.Application]:
    """Everything a worker is made of, alive for as long as the block runs."""
    index, catalog, indexer = (
        Index(settings.data_dir),
        Catalog(settings.data_dir),
        IndexerStatus(settings.data_dir),
    )
    metrics, access_log = Metrics(), AccessLog(settings)
    gate = Gate(
        settings,
        metrics,
        access_log,
        version=lambda: (index.generation, catalog.version),
        lag=indexer.lag_text,
    )
    _watch(metrics, index, catalog, gate)
    endpoints = all_endpoints()
    services = {
        Index: index,
        Catalog: catalog,
        IndexerStatus: indexer,
        Metrics: metrics,
        Settings: settings,
        Description: describe(endpoints, settings.base_url),
    }
    runner = Runner(build_app(endpoints, services, gate), gate.refuse, shutdown_timeout=STOP_SECONDS)
    followers = [
        asyncio.create_task(_repeat("index", INDEX_SECONDS, index.refresh)),
        asyncio.create_task(_repeat("snapshot", SNAPSHOT_SECONDS, catalog.refresh)),
        asyncio.create_task(_repeat("indexer status", STATUS_SECONDS, indexer.refresh)),
        asyncio.create_task(_repeat("access log", ACCESS_LOG_SECONDS, access_log.flush)),
    ]
    await runner.setup()
    try:
        await web.SockSite(runner, sock, backlog=_BACKLOG).start()
        yield runner.app
    finally:
        await runner.cleanup()
        for follower in followers:
            follower.cancel()
        await asyncio.gather(*followers, return_exceptions=True)
        catalog.close()


def _watch(metrics: Metrics, index: Index, catalog: Catalog, gate: Gate) -> None:
    metrics.watch(
        "fmsvc_index_generation", "Version of the search index being read.", lambda: index.generation
    )
    metrics.watch("fmsvc_index_documents", "Documents in the search index.", lambda: index.documents)
    metrics.watch("fmsvc_snapshot_age_seconds", "Age of the snapshot.", lambda: catalog.age_seconds() or 0.0)
    metrics.watch("fmsvc_cache_hits", "Answers found ready.", lambda: gate.cache.hits)
    metrics.watch("fmsvc_cache_misses", "Answers that had to be made.", lambda: gate.cache.misses)
    metrics.watch("fmsvc_cache_bytes", "Memory taken by ready answers.", lambda: gate.cache.bytes)
    metrics.watch("fmsvc_rate_limited", "Requests refused by the rate limit.", lambda: gate.limiter.refused)


async def _repeat(name: str, seconds: float, step: Callable[[], Awaitable[object] | None]) -> None:
    """Do a step again and again, whatever becomes of the last one."""
    while True:
        try:
            waiting = step()
            if waiting is not None:
                await waiting
        except Exception:
            log.exception("refresh failed", of=name)
        await asyncio.sleep(seconds)
