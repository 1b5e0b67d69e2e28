"""The MCP server on standard input and output, for assistants that start it as a program of their user."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from fmsvc import __version__
from fmsvc.mcp.api import TIMEOUT_SECONDS, Api
from fmsvc.mcp.server import Server, build_server

HOW_TO_SIGN_IN = (
    "The user sets FMSVC_TOKEN to a developer token (settings page of the service) in the configuration of "
    "this MCP server and restarts it. Never ask for the token in the conversation."
)


def run_stdio(
    *, token: str | None = None, api_url: str | None = None, environ: Mapping[str, str] = os.environ
) -> None:
    """Serve until standard input ends. Raises ValueError when no address is known."""
    asyncio.run(stdio_server(token=token, api_url=api_url, environ=environ).run_stdio_async())


def stdio_server(*, token: str | None, api_url: str | None, environ: Mapping[str, str]) -> Server:
    """The server for one user: arguments win over FMSVC_TOKEN and FMSVC_API_URL. Raises ValueError."""
    address = (api_url or environ.get("FMSVC_API_URL") or environ.get("FMSVC_URL") or "").rstrip("/")
    if not address.startswith(("http://", "https://")):
        raise ValueError("Set FMSVC_API_URL to the address of the API, such as https://music.example.com.")
    http = httpx2.AsyncClient(
        base_url=address,
        timeout=TIMEOUT_SECONDS,
        verify=address.startswith("https://"),  # else no certificates need to be read
        headers={"User-Agent": f"fmsvc-mcp/{__version__}", "Accept": "application/json"},
    )
    api = Api(http, address, HOW_TO_SIGN_IN, token or environ.get("FMSVC_TOKEN") or None)

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        async with http:
            yield

    return build_server(lambda _: api, address, lifespan)
