"""A relay on loopback: serves given frames from a cursor, and misbehaves on request.

    async with Relay(frames) as relay:
        source = Firehose(relay.url, session)

It keeps to the protocol: a cursor beyond the newest frame gets FutureCursor, one before the window gets
OutdatedCursor and then the oldest frame, none at all gets only what comes after connecting.
"""

import asyncio
import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from aiohttp import WSMsgType, web

from indexer.stream import envelope
from tests.network import forge

PATH = "/xrpc/com.atproto.sync.subscribeRepos"


@dataclass(frozen=True, slots=True)
class Close:
    """Close with this code after so many frames."""

    code: int
    after: int = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """Break the connection in the middle of a message, after so many whole ones."""

    after: int = 0


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer the request with this HTTP status."""

    status: int
    retry_after: str | None = None


@dataclass(frozen=True, slots=True)
class Send:
    """Send this message in place of the frames, then close with 1008, as after an error."""

    message: bytes | str


Fault = Close | Cut | Refuse | Send


class Relay:
    """Each connection takes the next of `faults`; with none left it serves for ever.

    `window` is how many of the newest frames are kept for replay; None: all. `routes` are answered beside
    the stream, on the same origin.
    """

    path = PATH

    def __init__(
        self,
        frames: Iterable[bytes] = (),
        *,
        faults: Iterable[Fault] = (),
        window: int | None = None,
        routes: Iterable[web.RouteDef] = (),
    ) -> None:
        self.frames = list(frames)
        self.faults = list(faults)
        self.window = window
        self.cursors: list[int | None] = []
        self.statuses: dict[str, str] = {}
        self.sent = 0
        self.url = ""
        self._more = asyncio.Condition()
        self._open: dict[web.WebSocketResponse, web.Request] = {}
        self._stalled = False
        self._rewound = 0
        self._oldest = 0
        app = web.Application()
        app.router.add_get(self.path, self._subscribe)
        app.router.add_get("/xrpc/com.atproto.sync.getRepoStatus", self._status)
        app.router.add_routes(routes)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self, port: int = 0) -> None:
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self.url = f"ws://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        await self.disconnect(1001)
        await self._runner.cleanup()

    async def disconnect(self, code: int) -> None:
        """Close every connection with this code, now."""
        for connection in list(self._open):
            with contextlib.suppress(ConnectionError):
                await connection.close(code=code)

    def cut(self) -> None:
        """Break every connection in the middle of a message, now."""
        for request in list(self._open.values()):
            _break(request)

    async def stall(self, stalled: bool = True) -> None:
        """Stay connected and say nothing, or go on."""
        async with self._more:
            self._stalled = stalled
            self._more.notify_all()

    def forget(self) -> None:
        """Keep only the newest frame for replay: whoever is further behind has missed something."""
        self._oldest = max(0, len(self.frames) - 1)

    def rewind(self, frames: int) -> None:
        """Begin the next connection so many frames before its cursor, as if it had asked for them."""
        self._rewound = frames

    async def send(self, *frames: bytes) -> None:
        """Add frames and push them to whoever is connected."""
        async with self._more:
            self.frames += frames
            self._more.notify_all()

    async def _status(self, request: web.Request) -> web.StreamResponse:
        """What it would answer about an account; `statuses` says of whom it knows."""
        status = self.statuses.get(request.query["did"])
        if status is None:
            return web.json_response({"error": "RepoNotFound"}, status=400)
        active = status == "active"
        return web.json_response({"active": active} | ({} if active else {"status": status}))

    async def _subscribe(self, request: web.Request) -> web.StreamResponse:
        cursor = request.query.get("cursor")
        self.cursors.append(int(cursor) if cursor else None)
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, Refuse):
            headers = {"Retry-After": fault.retry_after} if fault.retry_after else None
            return web.Response(status=fault.status, headers=headers)
        connection = web.WebSocketResponse(compress=False)
        await connection.prepare(request)
        self._open[connection] = request
        serving = asyncio.ensure_future(self._serve(request, connection, self.cursors[-1], fault))
        try:
            # Reading answers pings and notices that the client has gone.
            async for _ in connection:
                pass
        finally:
            self._open.pop(connection, None)
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
        return connection

    async def _serve(
        self, request: web.Request, connection: web.WebSocketResponse, cursor: int | None, fault: Fault | None
    ) -> None:
        if isinstance(fault, Send):
            await self._say(connection, fault.message)
            await connection.close(code=1008)
            return
        at = await self._position(connection, cursor)
        if at is None:
            await connection.close(code=1008)
            return
        limit = fault.after if isinstance(fault, Close | Cut) else None
        while limit is None or limit > 0:
            async with self._more:
                while self._stalled or at >= len(self.frames):
                    await self._more.wait()
            await self._say(connection, self.frames[at])
            at += 1
            limit = None if limit is None else limit - 1
        if isinstance(fault, Close):
            await connection.close(code=fault.code)
        else:
            _break(request)

    async def _position(self, connection: web.WebSocketResponse, cursor: int | None) -> int | None:
        """Where in the frames to begin; None after refusing."""
        if cursor is None:
            return len(self.frames)
        numbers = [(at, seq) for at, frame in enumerate(self.frames) if (seq := envelope.seq_of(frame))]
        if cursor > max((seq for _, seq in numbers), default=0):
            await self._say(connection, forge.error_frame("FutureCursor"))
            return None
        oldest = self._oldest if self.window is None else max(self._oldest, len(self.frames) - self.window)
        wanted = max((at + 1 for at, seq in numbers if seq <= cursor), default=0) - self._rewound
        self._rewound = 0
        if wanted < oldest and cursor > 0:
            await self._say(connection, forge.info_frame("OutdatedCursor"))
        return max(wanted, oldest)

    async def _say(self, connection: web.WebSocketResponse, message: bytes | str) -> None:
        self.sent += 1
        kind = WSMsgType.TEXT if isinstance(message, str) else WSMsgType.BINARY
        await connection.send_frame(message.encode() if isinstance(message, str) else message, kind)


def _break(request: web.Request) -> None:
    """Send the beginning of a message, and hang up."""
    if request.transport is not None:
        request.transport.write(b"\x82\x7e\x10\x00 the first bytes of 4096")
        request.transport.close()
