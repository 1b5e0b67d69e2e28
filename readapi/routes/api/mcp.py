"""The Model Context Protocol: what the API offers to AI assistants, described in docs/mcp.md."""

from typing import Any

from aiohttp import web

from readapi.answers import Answer
from readapi.errors import ForeignOrigin, NotAuthenticated, RateLimited, RequestTimeout, TooLarge
from readapi.http.endpoint import Routes
from readapi.http.request.request import Request
from readapi.http.response.headers import MCP_PATH
from readapi.mcp.mount import MountedMcp

routes = Routes("meta")


@routes.post(
    MCP_PATH,
    raises=(ForeignOrigin, NotAuthenticated, RateLimited, RequestTimeout, TooLarge),
    from_any_page=True,
    described=False,
)
async def answer_mcp(request: Request, mounted: MountedMcp) -> Answer[Any] | web.StreamResponse:
    """Answer one message of the Model Context Protocol, as JSON.

    There are no sessions and no streams of the server's own messages: GET and DELETE are refused.
    """
    return await mounted.answer(request)
