"""fmsvc's MCP server as the API serves it: each message for itself; its tools ask this worker as the sender.

The only module of the servers that imports `fmsvc`. It is imported at the first message.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from fmsvc.mcp import build_server
from fmsvc.mcp.api import TIMEOUT_SECONDS, Api
from readapi.http.limits.clients import CLIENT_HEADER
from readapi.http.request.bodies import MOST_BYTES
from readapi.mcp.caller import CALLER, Caller
from schemas.settings import Settings

MOST_CONNECTIONS = 64  # of all tools at once; further ones wait
HOW_TO_SIGN_IN = (
    "The user adds the header `Authorization: Bearer …` with a developer token (settings page of the "
    "service) to the configuration of this MCP connection. Never ask for the token in the conversation."
)


def make_manager(settings: Settings, socket: Path) -> StreamableHTTPSessionManager:
    """The server without sessions and streams, so that any worker can answer any message."""
    # All requests go to the socket, whatever their address.
    way = httpx2.AsyncHTTPTransport(
        uds=str(socket), verify=False, limits=httpx2.Limits(max_connections=MOST_CONNECTIONS)
    )
    http = httpx2.AsyncClient(
        transport=way, base_url="http://localhost", timeout=TIMEOUT_SECONDS, trust_env=False
    )

    def connect(request: Any) -> Api:
        caller: Caller = request.scope[CALLER]
        counted = {CLIENT_HEADER: caller.client}
        return Api(http, settings.base_url, HOW_TO_SIGN_IN, caller.token, counted)

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        async with http:
            yield

    server = build_server(connect, settings.base_url, lifespan)
    server.streamable_http_app(
        stateless_http=True,
        json_response=True,
        max_request_body_size=MOST_BYTES,
        # `readapi.mcp.origins` has checked them.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return server.session_manager
