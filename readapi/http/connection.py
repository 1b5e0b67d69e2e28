"""aiohttp's connection, except that a request starts where its bytes arrive, before there is a task for it.

Uses private names of aiohttp, as `request/request.py` does: `pyproject.toml` names the minor version.
"""
# ruff: noqa: SLF001

from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from aiohttp import StreamReader, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.streams import EMPTY_PAYLOAD
from aiohttp.web_protocol import _ErrInfo

from readapi.http import eager
from readapi.http.eager import Paused
from readapi.http.request.request import Request
from readapi.http.response.responses import Written

Response = Written | web.StreamResponse
Answering = Callable[[Request], Coroutine[Any, Any, Response]]


class ReadyResponse(web.StreamResponse):
    """A written response, for the framework to send."""

    def __init__(self, written: Written) -> None:
        super().__init__(status=written.status)
        self._content = written.content
        self._keep_alive = written.keep_alive
        self._writer: AbstractStreamWriter | None = None

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        self._writer = request.writer
        return self._writer

    async def write_eof(self, data: bytes = b"") -> None:
        assert self._writer is not None
        await self._writer.write(self._content)


class _Begun(NamedTuple):
    """A started request, and what is left to do: to await, to send the response, or to raise the error."""

    request: Request
    rest: Paused[Response] | web.StreamResponse | Exception


class EagerConnection(web.RequestHandler):
    """One connection, whose requests are answered by `answer`.

    A request without a body that arrives while the connection is idle starts at once. If its response is
    written without a wait, it is sent from here; else aiohttp's task for the request does the rest. All other
    requests are left to that task from the beginning.

    A connection is idle as soon as the last response is written: aiohttp's task comes back to its loop later.
    Under load the next request arrives first, and a connection that then went on in the task would never
    leave it.
    """

    def __init__(self, *args: Any, answer: Answering, **options: Any) -> None:
        super().__init__(*args, **options)
        self._answer = answer
        self._begun: _Begun | None = None
        self._is_in_task = (
            False  # the task has taken a request, and none may start before it is done with that
        )
        self._make_request: Any = self._request_factory
        self._request_factory = self._request_of
        self._request_handler: Any = self._finish

    @property
    def is_busy(self) -> bool:
        """Whether a whole request has arrived and is not answered yet."""
        return bool(self._messages) or self._request_in_progress

    def connection_lost(self, exc: BaseException | None) -> None:
        """Drop a request that was started."""
        self._begun = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse the data, and start the request that has arrived on an idle connection."""
        before = self._request_count
        self._receive(data)
        if self._request_count > before or self.is_busy:
            self.head_received()
        else:
            self.head_begun()

    def head_begun(self) -> None:
        """A part of a request's head has arrived."""

    def head_received(self) -> None:
        """Whole requests have arrived, or more of a request's body."""

    def _receive(self, data: bytes) -> None:
        waiter = self._waiter
        if self._is_in_task or self._messages or (waiter is not None and waiter.done()):
            super().data_received(data)
            return
        self._waiter = None  # so that parsing does not wake the task
        try:
            super().data_received(data)
        finally:
            self._waiter = waiter
        if self._messages and not self._is_answered() and waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _is_answered(self) -> bool:
        """Start the request that has arrived. Whether it is answered."""
        message, payload = self._messages[0]
        parser, transport = self._parser, self.transport
        if len(self._messages) > 1 or self._paused or parser is None or transport is None:
            return False
        if payload is not EMPTY_PAYLOAD or not _leaves_open(message):
            return False
        request = self._make_request(message, payload, self, None, self._task_handler)
        try:
            rest = eager.start(self._answer(request))
        except Exception as error:  # noqa: BLE001  # raised again in the task, where aiohttp handles it
            self._begun = _Begun(request, error)
            return False
        if not isinstance(rest, Written):
            self._begun = _Begun(request, rest)
            return False
        self._messages.clear()
        parser.message_consumed()
        transport.write(rest.content)
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
        return True

    def _request_of(
        self, message: Any, payload: StreamReader, protocol: Any, writer: AbstractStreamWriter, task: Any
    ) -> web.BaseRequest:
        """The request for aiohttp's task: the one that was started, if any."""
        self._is_in_task = True
        if self._begun is None:
            made: web.BaseRequest = self._make_request(message, payload, protocol, writer, task)
            return made
        request = self._begun.request
        request._payload_writer, request._task = writer, task
        return request

    async def _handle_request(self, request: web.BaseRequest, *args: Any) -> tuple[web.StreamResponse, bool]:
        """Answer a request in its task, up to the last byte of the response."""
        response, is_reset = await super()._handle_request(request, *args)
        self._is_in_task = is_reset or not response.keep_alive or not request.content.is_eof()
        return response, is_reset

    async def _finish(self, request: Request) -> web.StreamResponse:
        """The response to a request in its task."""
        begun, self._begun = self._begun, None
        rest = self._answer(request) if begun is None else begun.rest
        if isinstance(rest, Exception):
            raise rest
        response = rest if isinstance(rest, web.StreamResponse) else await rest
        return ReadyResponse(response) if isinstance(response, Written) else response


def _leaves_open(message: Any) -> bool:
    """Whether a message is a request that another one can follow."""
    return not (
        isinstance(message, _ErrInfo)
        or message.should_close
        or message.upgrade
        or hdrs.EXPECT in message.headers
    )
