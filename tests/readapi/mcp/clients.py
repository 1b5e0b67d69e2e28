"""The official Python client, speaking either revision of the protocol."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

HANDSHAKES = ("legacy", "auto")  # `initialize` up to 2025-11-25; `server/discover` since 2026-07-28


@asynccontextmanager
async def connected(address: str, mode: str, token: str | None = None) -> AsyncIterator[Client]:
    """A client of `/mcp`, with a token or without one. Nothing here speaks TLS."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(verify=False, headers=headers) as http,
        Client(streamable_http_client(f"{address}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client
