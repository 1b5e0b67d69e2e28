"""aiohttp's server with the gate around the application, limits around each connection, and one error shape.

A slow client ties up little: heads must arrive soon, idle connections are closed, answers must be read.
Bodies have a least speed of their own (`limits/body_pace.py`).
"""

import asyncio
import socket
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from math import inf
from typing import Any, Final, cast

import structlog
from aiohttp import web

from readapi import errors
from readapi.http.cohort import Cohort
from readapi.http.connection import EagerConnection, ReadyResponse, Response
from readapi.http.gate import Gate
from readapi.http.limits.connections import ConnectionLimits, Seat
from readapi.http.request import bodies
from readapi.http.request.request import Request
from readapi.http.router import Router

log = structlog.get_logger()


LEAST_BYTES = 32 << 10  # of an answer that a client must read within its time
ACCEPTED_AT_ONCE: Final = 8
_BACKLOG: Final = 1024


@dataclass(frozen=True, slots=True)
class ConnectionTimeouts:
    """Timeouts in seconds: for a request's head, between two requests, and to read more of an answer.

    Proxies should close idle connections sooner than `idle`, so that they never reuse one that we closed.
    """

    head: float = 15.0
    idle: float = 75.0
    stalled: float = 60.0


class _Connection(EagerConnection):
    """One client's connection, with its limits."""

    def __init__(
        self, *args: Any, gate: Gate, seats: ConnectionLimits, patience: ConnectionTimeouts, **options: Any
    ) -> None:
        super().__init__(*args, keepalive_timeout=patience.idle, **options)
        self._gate = gate
        self._seats = seats
        self._seat: Seat | None = None
        self._patience = patience
        self._head: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the connection, or close it at once when a limit is reached."""
        peer = transport.get_extra_info("peername")
        self._seat = self._seats.take(peer[0] if peer else "")
        if self._seat is None:
            cast(asyncio.Transport, transport).abort()
            return
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Uncount the connection."""
        self.head_received()
        self._is_taken()
        if self._seat is not None:
            self._seats.leave(self._seat)
            super().connection_lost(exc)

    def head_begun(self) -> None:
        """A head that has begun must be complete soon."""
        if self._head is None:
            self._await_head()

    def head_received(self) -> None:
        """What comes next has its own time."""
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def pause_writing(self) -> None:
        """The send buffer is full: the client has a limited time to read."""
        super().pause_writing()
        if self._stalled is None:
            self._expect_less()

    def resume_writing(self) -> None:
        """The client has read most of the buffer."""
        super().resume_writing()
        self._is_taken()

    def _is_taken(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _expect_less(self, than: float = inf) -> None:
        """Abort if the client has read less than LEAST_BYTES since the last check; else check again later."""
        transport = self.transport
        left = 0 if transport is None else transport.get_write_buffer_size()
        if left > than - LEAST_BYTES:
            self.abort()
        else:
            self._stalled = self._loop.call_later(self._patience.stalled, self._expect_less, left)

    def _await_head(self) -> None:
        self._head = self._loop.call_later(self._patience.head, self._late)

    def _late(self) -> None:
        self._head = None
        if not self.is_busy:
            self.abort()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Refuse a malformed request and close the connection: what follows cannot be parsed either."""
        if request.writer.output_size > 0:
            raise ConnectionError("half an answer is already sent")
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            log.error("request failed", exc_info=exc)
            return ReadyResponse(self._gate.refuse(request, errors.Internal().answer()))
        return ReadyResponse(self._gate.refuse(request, errors.BadRequest().answer()))


class _Server(web.Server):
    """Makes connections whose requests pass the gate, and are cancelled when the client disconnects."""

    def __init__(
        self,
        plain: web.Server,
        router: Router,
        gate: Gate,
        seats: ConnectionLimits,
        patience: ConnectionTimeouts,
        **options: Any,
    ) -> None:
        # The application would make the same requests, by one more function.
        make_request = partial(Request, loop=asyncio.get_running_loop(), client_max_size=bodies.MOST_BYTES)
        super().__init__(
            plain.request_handler, request_factory=make_request, handler_cancellation=True, **options
        )
        self._cohort: Cohort[Response] = Cohort(self._loop)
        self._options = options
        self._router = router
        self._gate = gate
        self._seats = seats
        self._patience = patience

    def __call__(self) -> web.RequestHandler:
        return _Connection(
            self,
            loop=self._loop,
            answer=partial(self._gate.answer, self._router.answer),
            cohort=self._cohort,
            gate=self._gate,
            seats=self._seats,
            patience=self._patience,
            **self._options,
        )


class Runner(web.AppRunner):
    """Runs the handlers of a router behind the gate."""

    def __init__(
        self,
        router: Router,
        gate: Gate,
        seats: ConnectionLimits,
        patience: ConnectionTimeouts | None = None,
        **options: Any,
    ) -> None:
        super().__init__(web.Application(client_max_size=bodies.MOST_BYTES), access_log=None, **options)
        self._router = router
        self._gate = gate
        self._seats = seats
        self._patience = patience or ConnectionTimeouts()

    async def listen(self, sock: socket.socket) -> None:
        """Accept the connections of a bound socket, up to ACCEPTED_AT_ONCE in each turn of the loop.

        libuv accepts one from each listener in a turn: with a single listener, the last of many clients that
        connect to a busy worker would wait for as many turns as there are clients.
        """
        for listener in (sock, *(sock.dup() for _ in range(ACCEPTED_AT_ONCE - 1))):
            await web.SockSite(self, listener, backlog=_BACKLOG).start()

    async def _make_server(self) -> web.Server:
        return _Server(
            await super()._make_server(),
            self._router,
            self._gate,
            self._seats,
            self._patience,
            **self._kwargs,
        )
