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
from fmsvc.mcp.caller import CallerApi
from readapi.http.limits.clients import CLIENT_HEADER
from readapi.http.request.bodies import MOST_BYTES
from readapi.mcp.caller import CALLER, Caller
from schemas.settings import Settings

MOST_CONNECTIONS = 64  # of all tools at once; further ones wait
HOW_TO_SIGN_IN = (
    "The user adds the header `Authorization: Bearer …` with a developer token (settings page of the "
    "service) to the configuration of this MCP connection. Never ask for the token in the conversation."
)


class CountedTransport(httpx2.AsyncBaseTransport):
    """The worker's connections to its socket, for requests that are counted for one client.

    Closing it closes no connection.
    """

    def __init__(self, way: httpx2.AsyncBaseTransport, client: str) -> None:
        self._way, self._client = way, client

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it with the header that names the client."""
        request.headers[CLIENT_HEADER] = self._client
        return await self._way.handle_async_request(request)


def make_manager(settings: Settings, socket: Path) -> StreamableHTTPSessionManager:
    """The server without sessions and streams, so that any worker can answer any message."""
    way = httpx2.AsyncHTTPTransport(
        uds=str(socket), verify=False, limits=httpx2.Limits(max_connections=MOST_CONNECTIONS)
    )

    def connect(request: Any) -> CallerApi:
        caller: Caller = request.scope[CALLER]
        return CallerApi.of(
            token=caller.token,
            api_url="http://localhost",  # the socket's, whatever the address says
            address=settings.base_url,
            how_to_sign_in=HOW_TO_SIGN_IN,
            transport=CountedTransport(way, caller.client),
        )

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        async with way:
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
