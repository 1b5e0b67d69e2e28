"""One worker process of the API: opens the stores, listens, and serves until it is signalled to stop."""

import asyncio
import gc
import socket
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
from sqlalchemy.exc import SQLAlchemyError

from readapi.audio.select import AudioSelection, open_sources
from readapi.audio.store import AudioStore
from readapi.http import process_metrics
from readapi.http.access_log import AccessLog
from readapi.http.admission import Authorization
from readapi.http.endpoint import Detached, Endpoint
from readapi.http.gate import Gate
from readapi.http.limits import connections
from readapi.http.limits.body_pace import BodyIntake
from readapi.http.limits.clients import Clients
from readapi.http.limits.connections import ConnectionLimits
from readapi.http.limits.rate_limits import RateLimits
from readapi.http.openapi.document import Description
from readapi.http.process_metrics import Processes
from readapi.http.request.cookies import Cookies
from readapi.http.server import Runner
from readapi.http.service_tokens import ServiceTokens
from readapi.http.supporters import Supporters
from readapi.http.viewer import Authenticator
from readapi.index.exports import OpenData
from readapi.index.indexer_client import IndexerNudges, IndexerStatus, Proofs
from readapi.index.lookups import Index
from readapi.index.snapshots.interface import SeriesFiles, Snapshots
from readapi.index.takedowns import StandingTakedowns
from readapi.live.feed import LOOK_SECONDS, Feed
from readapi.mcp import inner
from readapi.mcp.mount import MountedMcp
from readapi.metrics import Metrics
from readapi.oauth.network import Network
from readapi.pages import error_page
from readapi.pages.assets import Assets
from readapi.pages.outbound_links import Leaving
from readapi.pages.portal.pages import PortalPages
from readapi.pages.portal.settings_page import SettingsPage
from readapi.pages.public.operator import OperatorTexts
from readapi.pages.public.playlist_pages import PlaylistPages
from readapi.pages.public.track_pages import TrackPages
from readapi.pages.render import Renderer
from readapi.pages.urls import Addresses
from readapi.pds.records.listens import Turns
from readapi.pds.refresh_process import RefreshProcess
from readapi.pds.writing import Writing
from readapi.pictures.cache import Pictures, open_pictures
from readapi.processes import port, publishing_services
from readapi.processes.account_services import AccountServices
from readapi.processes.app import all_endpoints, build_router
from readapi.processes.audio_metrics import SECONDS as AUDIO_SECONDS
from readapi.processes.audio_metrics import AudioWatch
from readapi.processes.periodic import repeat
from readapi.processes.publishing_services import PublishingDependencies
from readapi.processes.stores import Stores
from readapi.publishing.access.capabilities import Capabilities
from readapi.spaces.find_track import SpaceTrackFinder
from readapi.sql.queries import Queries
from readapi.state.activity import FLUSH_SECONDS
from readapi.state.publishing.profile_visibility import ProfileVisibility
from readapi.state.state import State, StateError, open_state
from readapi.subsonic.covers import Covers
from readapi.subsonic.service import Subsonic, render_gate_refusal
from readapi.subsonic.songs import Songs
from readapi.webhooks.own import OwnWebhooks
from schemas import data_folder, heap, stop_signals
from schemas.service_identity import service_did
from schemas.settings import Settings
from schemas.state_reader import Away

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

log = structlog.get_logger()

ACCESS_LOG_SECONDS = 0.25
STOP_SECONDS = 3.0
FINISH_SECONDS = 1.0  # in addition, for operations whose client has disconnected


async def run_api(
    settings: Settings, network: Network, keeper: RefreshProcess, name: str = process_metrics.ALONE
) -> None:
    """Serve until SIGTERM or SIGINT; running requests are finished first. Raises PortTaken."""
    stop = stop_signals.stop_event()
    async with open_worker(settings, port.listen_on_port(settings), network, keeper, name):
        log.info("serving", address=settings.base_url)
        # Objects made so far live until the end; collecting over them caused most of the slowest responses.
        gc.collect()
        gc.freeze()
        await stop.wait()


@asynccontextmanager
async def open_worker(
    settings: Settings,
    sock: socket.socket,
    network: Network,
    keeper: RefreshProcess | None = None,
    name: str = process_metrics.ALONE,
) -> AsyncIterator[Stores]:
    """A running worker with all its services, until the block ends.

    Without a `keeper` it refreshes grants itself, and loses a grant if it is killed during its refresh.
    """
    async with (
        open_state(settings) as state,
        AccountServices(settings, state, network, keeper) as people,
        _limits(settings) as limits,
        _open_stores(settings) as stores,
        _listening(settings, state, network, stores.takedowns) as listening,
        open_pictures(settings, network) as pictures,
        _serving(settings, sock, people, limits, stores, listening | {Pictures: pictures}, network, name),
    ):
        yield stores


@asynccontextmanager
async def _limits(settings: Settings) -> AsyncIterator[RateLimits]:
    if settings.limits_url is None:
        yield RateLimits(settings, time.monotonic)
        return
    # Imported only where it is used, since it imports the Valkey client.
    from readapi.http.limits.shared_rate_limits import open_shared_limits

    async with open_shared_limits(settings, settings.limits_url) as limits:
        yield limits


@asynccontextmanager
async def _open_stores(settings: Settings) -> AsyncIterator[Stores]:
    stores = Stores(settings)
    try:
        await stores.open()
    except Away as error:
        raise StateError(f"The takedowns cannot be read: {error}") from error
    try:
        yield stores
    finally:
        await stores.close()


@asynccontextmanager
async def _listening(
    settings: Settings, state: State, network: Network, takedowns: StandingTakedowns
) -> AsyncIterator[dict[type, Any]]:
    """The services that handlers need for streaming and downloads."""
    supporters = Supporters(network, settings.support_verifier)
    async with open_sources(settings, network, state.managed_audio, supporters, takedowns) as sources:
        yield {Supporters: supporters, AudioSelection: sources}


@asynccontextmanager
async def _serving(
    settings: Settings,
    sock: socket.socket,
    people: AccountServices,
    limits: RateLimits,
    stores: Stores,
    listening: dict[type, Any],
    network: Network,
    name: str,
) -> AsyncIterator[None]:
    metrics, access_log = Metrics(), AccessLog(settings)
    endpoints = all_endpoints()
    renderer = Renderer(Addresses(settings.base_url, settings.web_url), Assets(), settings)
    offered = build_services(settings, stores, metrics, renderer, endpoints) | people.services() | listening
    feed = offered[Feed] = Feed(settings, stores.index)
    offered[OwnWebhooks] = OwnWebhooks(settings, people.state, stores.index, feed, network)
    offered[Processes] = Processes(settings, name)
    offered |= _authoring(settings, people, stores.index, offered, network)
    of_tools = inner.socket_of(settings.data_dir, name)
    offered[MountedMcp] = MountedMcp(settings, partial(_make_mcp, settings, of_tools), offered[BodyIntake])
    authenticator = Authenticator(
        people.state,
        limits.guesses,
        Clients(settings.trusted_proxies).key,
        ServiceTokens(service_did(settings.base_url), network, people.state.service_tokens, limits.servers),
    )
    offered[Subsonic] = _make_subsonic(settings, authenticator, offered)
    show = partial(error_page.error_page, renderer=renderer)
    gate = Gate(
        settings,
        endpoints,
        authenticator.find,
        limits,
        metrics,
        access_log,
        stores.version,
        stores.indexer.lag_text,
        show,
        render_gate_refusal,
    )
    stores.watch(metrics)
    audio_watch = AudioWatch(people.state)
    audio_watch.watch(metrics)
    gate.watch(metrics)
    feed.watch(metrics)
    router = build_router(endpoints, offered)
    places = ConnectionLimits(settings, connections.raise_file_limit())
    places.watch(metrics)
    runner = Runner(router, gate, places, shutdown_timeout=STOP_SECONDS)
    beside = [
        asyncio.create_task(repeat(ACCESS_LOG_SECONDS, access_log.flush)),
        asyncio.create_task(heap.keep_trimming()),
        asyncio.create_task(repeat(AUDIO_SECONDS, audio_watch.refresh)),
        asyncio.create_task(repeat(LOOK_SECONDS, feed.step)),
        asyncio.create_task(repeat(FLUSH_SECONDS, people.state.activity.flush)),
    ]
    try:
        await runner.setup()
        await inner.listen(runner, of_tools)
        await runner.listen(sock)
        async with process_metrics.serve_metrics(settings.data_dir, name, metrics.text):
            yield
    finally:
        feed.close()
        await runner.cleanup()
        await offered[Detached].close(FINISH_SECONDS)
        await offered[MountedMcp].close()
        await offered[Queries].close()
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)  # they give back their connections
        access_log.flush()
        with suppress(SQLAlchemyError, OSError):
            await people.state.activity.flush()


def _make_subsonic(settings: Settings, authenticator: Authenticator, offered: dict[type, Any]) -> Subsonic:
    """OpenSubsonic over the services that handlers have."""
    songs = Songs(offered[Index], offered[Supporters])
    used = {**offered, Songs: songs, Covers: Covers(offered[Index], offered[Pictures])}
    return Subsonic(settings, authenticator, offered[Authorization], offered[BodyIntake], used)


def _make_mcp(settings: Settings, of_tools: Path) -> "StreamableHTTPSessionManager":
    # Imported only where it is used, since its libraries take a second.
    from readapi.mcp.service import make_manager

    return make_manager(settings, of_tools)


def _authoring(
    settings: Settings, people: AccountServices, index: Index, offered: dict[type, Any], network: Network
) -> dict[type, Any]:
    """The services that handlers need for writing records, publishing, the Portal, and the settings page."""
    nudges = IndexerNudges(settings.data_dir, index, settings.shown_seconds)
    writing = Writing(people.pds, nudges, settings.collections)
    given = PublishingDependencies(settings, people.state, AudioStore.of(settings), people.pds, writing)
    made = publishing_services.publishing_services(
        given, offered[Supporters], offered[AudioSelection], index, network
    )
    renderer, supporters, showing = offered[Renderer], offered[Supporters], offered[ProfileVisibility]
    return {
        Writing: writing,
        Turns: Turns(),
        PortalPages: PortalPages(
            renderer, index, people.state, showing, made[Capabilities], offered[SeriesFiles], settings
        ),
        SettingsPage: SettingsPage(renderer, people.state, offered[OwnWebhooks], settings.collections),
        TrackPages: TrackPages(
            renderer,
            index,
            made[SpaceTrackFinder],
            supporters,
            showing,
            offered[AudioSelection],
            people.state,
        ),
        PlaylistPages: PlaylistPages(renderer, index, supporters, showing, writing),
        **made,
    }


def build_services(
    settings: Settings,
    stores: Stores,
    metrics: Metrics,
    renderer: Renderer,
    endpoints: Iterable[Endpoint],
) -> dict[type, Any]:
    """All services that handlers may request, by type."""
    return {
        Index: stores.index,
        Snapshots: stores.catalog,
        SeriesFiles: stores.series,
        OpenData: OpenData(settings),
        Queries: Queries(settings.data_dir / data_folder.NEWEST_PUBLISHED, offered=settings.sql),
        IndexerStatus: stores.indexer,
        Proofs: Proofs(settings.data_dir),
        Authorization: Authorization(settings),
        Detached: Detached(),
        BodyIntake: BodyIntake(),
        Cookies: Cookies(settings),
        Metrics: metrics,
        Settings: settings,
        Addresses: renderer.addresses,
        Assets: renderer.assets,
        Renderer: renderer,
        OperatorTexts: renderer.texts,
        Leaving: Leaving(renderer),
        Description: Description(endpoints, settings.base_url),
    }
