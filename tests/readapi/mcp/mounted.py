"""The server with all fixtures, behind the mounting and the gate that the service's own has."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from readapi.answers import Answer
from readapi.http.asgi import StreamLimits
from readapi.http.endpoint import Routes
from readapi.http.gate import WhoAsks
from readapi.http.limits.body_pace import BodyIntake
from readapi.http.request.request import Request
from readapi.mcp.mount import MakeManager, MountedMcp
from schemas.settings import Settings
from tests.readapi import site
from tests.readapi.mcp import everything
from tests.readapi.site import Site

routes = Routes("meta")


@routes.get("/mcp", described=False)
async def receive(request: Request, mounted: MountedMcp) -> Answer[Any] | web.StreamResponse:
    """Open a stream of the server's own messages."""
    return await mounted.answer(request)


@routes.post("/mcp", from_any_page=True, described=False)
async def send(request: Request, mounted: MountedMcp) -> Answer[Any] | web.StreamResponse:
    """Send it a message."""
    return await mounted.answer(request)


@routes.delete("/mcp", from_any_page=True, described=False)
async def end(request: Request, mounted: MountedMcp) -> Answer[Any] | web.StreamResponse:
    """End a session."""
    return await mounted.answer(request)


@routes.get("/beside")
async def beside() -> Answer[str]:
    """Answer at once."""
    return Answer(b'"here"')


@asynccontextmanager
async def mounting(
    make: MakeManager = everything.manager,
    streams: StreamLimits | None = None,
    who_asks: WhoAsks = site.nobody,
    **settings: Any,
) -> AsyncIterator[Site]:
    """A site with a server at /mcp."""
    sock = socket.create_server(("127.0.0.1", 0))
    ours = Settings(port=sock.getsockname()[1], rate_limit="100000/minute", **settings)
    mounted = MountedMcp(ours, make, BodyIntake(), streams)
    async with site.running(routes, {MountedMcp: mounted}, ours, who_asks=who_asks, sock=sock) as opened:
        try:
            yield opened
        finally:
            await mounted.close()
