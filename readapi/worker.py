"""One worker process of the API: opens the stores, listens, serves until told to stop."""

import asyncio
import gc
import signal
import socket
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import structlog
from aiohttp import web

from readapi import port, processes, seats
from readapi.access_log import AccessLog
from readapi.admission import Admission
from readapi.app import all_endpoints, build_app
from readapi.audio.sources import Sources, open_sources
from readapi.audio.store import AudioStore
from readapi.audio_watch import SECONDS as AUDIO_SECONDS
from readapi.audio_watch import AudioWatch
from readapi.catalog import Catalog
from readapi.clients import Clients
from readapi.cookies import Cookies
from readapi.endpoint import Endpoint
from readapi.finishing import Finishing
from readapi.gate import Gate
from readapi.indexer_status import IndexerStatus
from readapi.intake import Intake
from readapi.keeper import Keeper
from readapi.limits import Limits
from readapi.metrics import Metrics
from readapi.nudges import Nudges
from readapi.oauth.network import Network
from readapi.openapi import Description
from readapi.pages import refusals
from readapi.pages.addresses import Addresses
from readapi.pages.assets import Assets
from readapi.pages.desk import Desk
from readapi.pages.leaving import Leaving
from readapi.pages.render import Renderer
from readapi.people import People
from readapi.processes import Processes
from readapi.proofs import Proofs
from readapi.publishing import parts
from readapi.publishing.capabilities import Capabilities
from readapi.publishing.parts import Given
from readapi.publishing.supporters import Supporters
from readapi.repeating import repeat
from readapi.search import Index
from readapi.seats import Seats
from readapi.server import Runner
from readapi.state.state import State, open_state
from readapi.stores import Stores
from readapi.viewer import Viewers
from readapi.writing import Writing
from schemas import heap
from schemas.settings import Settings

log = structlog.get_logger()

ACCESS_LOG_SECONDS = 0.25
STOP_SECONDS = 3.0
FINISH_SECONDS = 1.0  # more, for what goes on though its client has gone
_BACKLOG = 1024


async def run(settings: Settings, network: Network, keeper: Keeper, name: str = processes.ALONE) -> None:
    """Serve until SIGTERM or SIGINT; requests under way are finished first. Raises PortTaken."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serving(settings, port.listen(settings), network, keeper, name):
        log.info("serving", address=settings.base_url)
        # What exists by now stays; walking it again and again made most of the slowest answers.
        gc.collect()
        gc.freeze()
        await stop.wait()


@asynccontextmanager
async def serving(
    settings: Settings,
    sock: socket.socket,
    network: Network,
    keeper: Keeper | None = None,
    name: str = processes.ALONE,
) -> AsyncIterator[Stores]:
    """Everything a worker is made of, alive for as long as the block runs.

    Without a keeper it refreshes grants itself, and loses those that it is killed over.
    """
    async with (
        open_state(settings) as state,
        People(settings, state, network, keeper) as people,
        _limits(settings) as limits,
        _listening(settings, state, network) as listening,
        _serving(settings, sock, people, limits, listening, network, name) as stores,
    ):
        yield stores


@asynccontextmanager
async def _limits(settings: Settings) -> AsyncIterator[Limits]:
    if settings.limits_url is None:
        yield Limits(settings, time.monotonic)
        return
    from readapi.shared_limits import shared  # its client is not for those who do without

    async with shared(settings, settings.limits_url) as limits:
        yield limits


@asynccontextmanager
async def _listening(settings: Settings, state: State, network: Network) -> AsyncIterator[dict[type, Any]]:
    """What handlers need to let people hear something."""
    supporters = Supporters(network, settings.support_verifier)
    async with open_sources(settings, network, state.managed_audio, supporters) as sources:
        yield {Supporters: supporters, Sources: sources}


@asynccontextmanager
async def _serving(
    settings: Settings,
    sock: socket.socket,
    people: People,
    limits: Limits,
    listening: dict[type, Any],
    network: Network,
    name: str,
) -> AsyncIterator[Stores]:
    stores, metrics, access_log = Stores(settings), Metrics(), AccessLog(settings)
    endpoints = all_endpoints()
    renderer = Renderer(Addresses(settings.base_url, settings.web_url), Assets())
    offered = services(settings, stores, metrics, renderer, endpoints) | people.services() | listening
    offered[Processes] = Processes(settings, name)
    offered |= _authoring(settings, people, stores.index, offered, network)
    show = partial(refusals.page, renderer=renderer)
    gate = Gate(
        settings,
        endpoints,
        Viewers(people.state, limits.guesses, Clients(settings.trusted_proxies).key).find,
        limits,
        metrics,
        access_log,
        stores.version,
        stores.indexer.lag_text,
        show,
    )
    stores.watch(metrics)
    audio_watch = AudioWatch(people.state)
    audio_watch.watch(metrics)
    gate.watch(metrics)
    app = build_app(endpoints, offered)
    places = Seats(settings, seats.for_open_files())
    places.watch(metrics)
    runner = Runner(app, gate, places, shutdown_timeout=STOP_SECONDS)
    beside = [
        asyncio.create_task(repeat(ACCESS_LOG_SECONDS, access_log.flush)),
        asyncio.create_task(heap.keep_giving_back()),
        asyncio.create_task(repeat(AUDIO_SECONDS, audio_watch.refresh)),
    ]
    try:
        await stores.open()
        await runner.setup()
        await web.SockSite(runner, sock, backlog=_BACKLOG).start()
        async with processes.offering(settings.data_dir, name, metrics.text):
            yield stores
    finally:
        await runner.cleanup()
        await offered[Finishing].close(FINISH_SECONDS)
        await stores.close()
        for task in beside:
            task.cancel()
        access_log.flush()


def _authoring(
    settings: Settings, people: People, index: Index, offered: dict[type, Any], network: Network
) -> dict[type, Any]:
    """What handlers need to write and publish for people, and for the Portal."""
    writing = Writing(people.pds, Nudges(settings.data_dir, index), settings.collections)
    given = Given(settings, people.state, AudioStore.of(settings), people.pds, writing)
    made = parts.services(given, offered[Supporters], offered[Sources], index, network)
    desk = Desk(offered[Renderer], index, people.state, made[Capabilities], settings)
    return {Writing: writing, Desk: desk, **made}


def services(
    settings: Settings,
    stores: Stores,
    metrics: Metrics,
    renderer: Renderer,
    endpoints: Iterable[Endpoint],
) -> dict[type, Any]:
    """Everything that handlers may ask for, by its type."""
    return {
        Index: stores.index,
        Catalog: stores.catalog,
        IndexerStatus: stores.indexer,
        Proofs: Proofs(settings.data_dir),
        Admission: Admission(settings),
        Finishing: Finishing(),
        Intake: Intake(),
        Cookies: Cookies(settings),
        Metrics: metrics,
        Settings: settings,
        Addresses: renderer.addresses,
        Assets: renderer.assets,
        Renderer: renderer,
        Leaving: Leaving(renderer),
        Description: Description(endpoints, settings.base_url),
    }
