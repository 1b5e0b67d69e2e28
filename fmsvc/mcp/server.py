"""Builds the MCP server: tools, resources and prompts, answered for the sender of each message."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp_types import CallToolResult, InputRequiredResult, Tool, ToolAnnotations
from pydantic import ValidationError

from fmsvc import __version__
from fmsvc.answers import parse_object
from fmsvc.errors import FmsvcError
from fmsvc.mcp import grants, guides, reading, writing
from fmsvc.mcp.caller import CALLER, Connect, caller
from fmsvc.mcp.errors import explain, explain_arguments, explained

Work = Callable[..., Awaitable[Any]]
Lifespan = Callable[[MCPServer[Any]], AbstractAsyncContextManager[Any]]

_READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=True
)
_WRITES = {
    "like_track": ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=True
    ),
    # What was public can be copied for ever.
    "set_publishing": ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=True
    ),
}


class Server(MCPServer[Any]):
    """Offers tools that write only to callers whose token grants them."""

    needs: dict[str, str]

    async def list_tools(self) -> list[Tool]:
        """The tools of the caller."""
        granted = await grants.granted(caller())
        return [
            tool
            for tool in await super().list_tools()
            if tool.name not in self.needs or grants.may_write(granted, self.needs[tool.name])
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool. Raises ToolError, also for arguments that its schema refuses."""
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            refused = error.__cause__
            # An unexpected error is one of the tool itself: its arguments had been accepted.
            if isinstance(refused, ValidationError) and not isinstance(error, UnexpectedToolError):
                raise ToolError(explain_arguments(refused)) from refused
            raise


def build_server(connect: Connect, address: str, lifespan: Lifespan | None = None) -> Server:
    """The server. `connect` gives the sender of a message; `address` is the API's public one.

    There are no streams: what is listed changes with the caller's token alone, and no client waits.
    """

    async def as_caller(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        before = CALLER.set(connect(ctx.request))
        try:
            return await call_next(ctx)
        finally:
            CALLER.reset(before)

    server = Server(
        "fmsvc",
        title="fmsvc",
        description="Finds and reads audio published on the AT Protocol network.",
        instructions=guides.INSTRUCTIONS,
        website_url=address,
        version=__version__,
        log_level="WARNING",
        lifespan=lifespan,
        subscriptions=False,
        middleware=[as_caller],
    )
    server.needs = {tool.__name__: collection for tool, collection in writing.ALL.items()}
    reads: tuple[Work, ...] = reading.ALL
    for read in reads:
        _add_tool(server, read, _READS)
    for write in writing.ALL:
        _add_tool(server, write, _WRITES[write.__name__])
    _add_resources(server, address)
    _add_prompts(server, address)
    return server


def _add_tool(server: Server, tool: Work, annotations: ToolAnnotations) -> None:
    title = tool.__name__.replace("_", " ").capitalize()
    server.add_tool(explained(tool), title=title, annotations=annotations, structured_output=True)


def _add_resources(server: Server, address: str) -> None:
    @server.resource("fmsvc://interfaces", title="Interfaces", mime_type="text/plain")
    def interfaces() -> str:
        """Which interface suits which work, and what answers prove."""
        return guides.INTERFACES.format(address=address)

    @server.resource("fmsvc://me", title="The connected account", mime_type="text/plain")
    async def me() -> str:
        """The account that the caller's token belongs to, and what it grants."""
        if not caller().has_token:
            return f"No account is connected. {caller().how_to_sign_in}"
        try:
            told = parse_object(await caller().http.ask("GET", "auth", "me"))
        except FmsvcError as error:
            return explain(error)
        granted = " ".join(told.get("scopes", ()))
        return f"Connected as @{told.get('handle')} ({told.get('did')}). Granted: {granted}"


def _add_prompts(server: Server, address: str) -> None:
    @server.prompt(title="Publish a track")
    def upload_guide() -> str:
        """Help the user publish a track with the command line."""
        return guides.UPLOAD.format(address=address)

    @server.prompt(title="Download tracks")
    def download_guide() -> str:
        """Help the user download tracks with the command line or the SDK."""
        return guides.DOWNLOAD

    @server.prompt(title="Find audio")
    def discover(wish: str) -> str:
        """Find audio that fits a wish."""
        return guides.DISCOVER.format(wish=wish)
