"""A small application of given routes, on a real port of 127.0.0.1."""

import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

import aiohttp
from aiohttp import web

from readapi.answers import Answer
from readapi.http.access_log import AccessLog
from readapi.http.admission import Authorization
from readapi.http.endpoint import Detached, Routes
from readapi.http.gate import Gate, WhoAsks
from readapi.http.limits.connections import ConnectionLimits
from readapi.http.limits.rate_limits import RateLimits
from readapi.http.server import ConnectionTimeouts, Runner
from readapi.http.viewer import Requester
from readapi.metrics import Metrics
from readapi.processes.app import build_router
from schemas.settings import Settings


@dataclass
class Site:
    """What a test talks to, and what it can change and look at."""

    gate: Gate
    metrics: Metrics
    access_log: AccessLog
    log: StringIO
    version: list[int] = field(default_factory=lambda: [1])
    address: str = ""
    client: aiohttp.ClientSession | None = None
    server: web.Server | None = None

    def connection(self) -> web.RequestHandler:
        """The protocol of a new connection, for a transport of the test."""
        assert self.server is not None
        return self.server()

    def get(self, path: str, **headers: str) -> aiohttp.client._RequestContextManager:
        return self.send("GET", path, **headers)

    def send(self, method: str, path: str, **headers: str) -> aiohttp.client._RequestContextManager:
        assert self.client is not None
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.request(method, self.address + path, headers=named, allow_redirects=False)


async def nobody(_: web.Request) -> Requester | None:
    """Whatever they send."""
    return None


@asynccontextmanager
async def running(
    routes: Routes,
    services: Mapping[type, object] | None = None,
    settings: Settings | None = None,
    refusal_page: Callable[[Answer[Any], str], Answer[Any]] | None = None,
    who_asks: WhoAsks = nobody,
    patience: ConnectionTimeouts | None = None,
    of_one_client: int = 100,
    sock: socket.socket | None = None,
) -> AsyncIterator[Site]:
    """Serve the routes for as long as the block runs; on any free port, unless a socket is given."""
    settings = settings or Settings()
    log, version = StringIO(), [1]
    metrics, access_log = Metrics(), AccessLog(settings, log)
    gate = Gate(
        settings,
        routes.endpoints,
        who_asks,
        RateLimits(settings, time.monotonic),
        metrics,
        access_log,
        version=lambda: version[0],
        lag=lambda: "0.500",
        refusal_page=refusal_page,
    )
    site = Site(gate, metrics, access_log, log, version)
    offered: dict[type, object] = {Authorization: Authorization(settings), Detached: Detached()}
    runner = Runner(
        build_router(routes.endpoints, {**offered, **(services or {})}),
        gate,
        ConnectionLimits(settings, most=1000, of_one_client=of_one_client),
        patience,
        shutdown_timeout=1,
    )
    await runner.setup()
    await runner.listen(sock or socket.create_server(("127.0.0.1", 0)))
    site.server = runner.server
    site.address = "http://{}:{}".format(*runner.addresses[0][:2])
    async with aiohttp.ClientSession(auto_decompress=False) as client:
        site.client = client
        yield site
    await runner.cleanup()
