"""The MCP server on standard input and output, for assistants that start it as a program of their user."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fmsvc import tokens
from fmsvc.addresses import find_api_url
from fmsvc.mcp.caller import CallerApi
from fmsvc.mcp.server import Server, build_server

HOW_TO_SIGN_IN = (
    "The user sets FMSVC_TOKEN to a developer token (settings page of the service) in the configuration of "
    "this MCP server and restarts it. Never ask for the token in the conversation."
)


def run_stdio(*, token: str | None = None, api_url: str | None = None) -> None:
    """Serve until standard input ends. Raises ConfigurationError when no address is known."""
    asyncio.run(stdio_server(token=token, api_url=api_url).run_stdio_async())


def stdio_server(*, token: str | None = None, api_url: str | None = None) -> Server:
    """The server for one user: arguments win over FMSVC_TOKEN and FMSVC_API_URL. Raises ConfigurationError.

    The session that `fmsvc login` keeps is not used: it grants more than an assistant needs.
    """
    caller = CallerApi.of(
        token=token or os.environ.get(tokens.VARIABLE),
        api_url=find_api_url(api_url),
        how_to_sign_in=HOW_TO_SIGN_IN,
    )

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await caller.close()

    return build_server(lambda _: caller, caller.address, lifespan)
