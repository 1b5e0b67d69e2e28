"""Every tool of the MCP server, those too that need a permission."""

import httpx2
from mcp_types import Tool

from fmsvc.mcp import build_server
from fmsvc.mcp.caller import CALLER, CallerApi

EVERYTHING = {"did": "did:plc:x", "handle": "x.example", "scopes": ["repo:*"]}


def answer(_: httpx2.Request) -> httpx2.Response:
    """An account that granted everything."""
    return httpx2.Response(200, json=EVERYTHING)


async def every_tool() -> list[Tool]:
    """Offered to a caller whose token grants everything."""
    address = "https://api.example"
    caller = CallerApi.of(token="t", api_url=address, transport=httpx2.MockTransport(answer))
    before = CALLER.set(caller)
    try:
        return await build_server(lambda _: caller, address).list_tools()
    finally:
        CALLER.reset(before)
        await caller.close()
