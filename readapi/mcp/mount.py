"""An MCP server mounted in the API: messages pass the gate, then the checks here, then the `mcp` library.

The server is made at the first message, in a thread: its libraries take a second to import, and many workers
are never asked.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aiohttp import web

from readapi.answers import Answer
from readapi.errors import NotAuthenticated
from readapi.http import asgi
from readapi.http.asgi import AsgiApp, StreamLimits
from readapi.http.limits.body_pace import BodyIntake, Pace
from readapi.http.request import bodies
from readapi.http.request.request import Request
from readapi.mcp.caller import CALLER, Caller
from readapi.mcp.origins import Origins
from schemas.settings import Settings

if TYPE_CHECKING:  # imported at the first message
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

MakeManager = Callable[[], "StreamableHTTPSessionManager"]


class MountedMcp:
    """The MCP server of one worker, and the limits of what streams from it."""

    def __init__(
        self, settings: Settings, make: MakeManager, intake: BodyIntake, streams: StreamLimits | None = None
    ) -> None:
        """`make` imports and builds the server; it is called at most once, in a thread."""
        self._make = make
        self._origins = Origins(settings)
        self._intake = intake
        self._streams = streams or StreamLimits()
        self._ready: asyncio.Future[AsgiApp] | None = None
        self._stop = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def answer(self, request: Request) -> Answer[Any] | web.StreamResponse:
        """Answer one message. Raises ForeignOrigin, NotAuthenticated, TooLarge, RequestTimeout, RateLimited.

        A token that is not valid is refused here, so that no client mistakes public answers for its own.
        """
        self._origins.check(request.headers)
        requester = request.requester
        if requester is not None and not requester.by_cookie and requester.viewer is None:
            raise requester.refusal or NotAuthenticated()
        body = await bodies.read_bytes(request, Pace(self._intake, request.content))
        caller = Caller.of(request)
        return await asgi.answer_by_asgi(
            await self._app(), request, body, self._streams, request.client, {CALLER: caller}
        )

    async def close(self) -> None:
        """End the server and what it still works at."""
        self._stop.set()
        if self._running is not None:
            await asyncio.gather(self._running, return_exceptions=True)

    async def _app(self) -> AsgiApp:
        """The server as an ASGI application, made when it is first asked for."""
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(self._run(self._ready))
        return await asyncio.shield(self._ready)

    async def _run(self, ready: "asyncio.Future[AsgiApp]") -> None:
        """Make the server and keep it running. In a task of its own, which its task group belongs to."""
        try:
            manager = await asyncio.to_thread(self._make)
            async with manager.run():
                ready.set_result(manager.handle_request)
                await self._stop.wait()
        except Exception as error:
            if ready.done():
                raise
            ready.set_exception(error)
