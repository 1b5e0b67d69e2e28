"""aiohttp's connection, except that what waits for nothing is answered without a task, in a cohort.

Uses private names of aiohttp, as `request/request.py` does: `pyproject.toml` names the minor version.
"""
# ruff: noqa: SLF001

from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any, NamedTuple

from aiohttp import StreamReader, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.streams import EMPTY_PAYLOAD
from aiohttp.web_protocol import ERROR, _ErrInfo

from readapi.http.cohort import Cohort, Outcome
from readapi.http.request.request import Request
from readapi.http.response.responses import Written

Response = Written | web.StreamResponse
Answering = Callable[[Request], Coroutine[Any, Any, Response]]


class ReadyResponse(web.StreamResponse):
    """A written response, for the framework to send."""

    def __init__(self, written: Written) -> None:
        super().__init__(status=written.status)
        self._content, self._rest = written.content, written.rest
        self._keep_alive = written.keep_alive
        self._writer: AbstractStreamWriter | None = None

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        self._writer = request.writer
        return self._writer

    async def write_eof(self, data: bytes = b"") -> None:
        assert self._writer is not None
        await self._writer.write(self._content)
        if self._rest:
            await self._writer.write(self._rest)


class _Begun(NamedTuple):
    """A started request, and what is left to do: to await, to send the response, or to raise the error."""

    request: Request
    rest: Outcome[Response]


class EagerConnection(web.RequestHandler):
    """One connection, whose requests are answered by `answer`.

    A request without a body that arrives while the connection is idle is started by the cohort of its turn
    of the event loop. If its response is written without a wait, it is sent from here; else aiohttp's task
    for the request does the rest. All other requests are left to that task from the beginning.

    A connection is idle as soon as the last response is written: aiohttp's task comes back to its loop later.
    Under load the next request arrives first, and a connection that then went on in the task would never
    leave it.
    """

    def __init__(self, *args: Any, answer: Answering, cohort: Cohort[Response], **options: Any) -> None:
        super().__init__(*args, **options)
        self._answer = answer
        self._cohort = cohort
        self._arrived: tuple[Any, StreamReader] | None = None  # the request that the cohort answers
        self._started: Request | None = None  # the same, as soon as the cohort has begun
        self._early = b""  # what has followed it meanwhile
        self._closes = False  # when it is answered
        self._begun: _Begun | None = None
        # The task has taken a request, and none may start before it is done with that.
        self._is_in_task = False
        self._make_request: Any = self._request_factory
        self._request_factory = self._request_of
        self._request_handler: Any = self._finish

    @property
    def is_lost(self) -> bool:
        """Whether the client has gone."""
        return self.transport is None

    @property
    def is_busy(self) -> bool:
        """Whether a whole request has arrived and is not answered yet."""
        return bool(self._messages) or self._request_in_progress or self._arrived is not None

    def connection_lost(self, exc: BaseException | None) -> None:
        """Drop a request that has arrived or was started."""
        self._arrived = self._started = self._begun = None
        super().connection_lost(exc)

    def close(self) -> None:
        """Answer what the task and the cohort have begun, and nothing more."""
        if self._arrived is None:
            super().close()
        else:
            self._closes = True

    def eof_received(self) -> bool:  # type: ignore[override]  # as asyncio has it
        """The client sends no more. One that still waits for the cohort is answered before the end."""
        self._closes = self._arrived is not None
        return self._closes

    def abort(self) -> None:
        """Close the connection and drop what is still buffered."""
        if self.transport is not None:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Parse the data, and have the request started that has arrived on an idle connection."""
        if self._started is not None and self.transport is not None:
            if data:
                self._early += data
                self.transport.pause_reading()
            return
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
        if self._arrived is not None:  # requests that follow one another so closely are the task's
            self._leave_to_task(self._arrived)
        waiter = self._waiter
        if self._is_in_task or self._messages or (waiter is not None and waiter.done()):
            super().data_received(data)
            return
        self._waiter = None  # so that parsing does not wake the task
        try:
            super().data_received(data)
        finally:
            self._waiter = waiter
        if self._can_start():
            # Out of the sight of the task, which would take it when it is back in its loop.
            self._arrived = self._messages.popleft()
            self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
            self._cohort.add(self)
        elif self._messages:
            self._wake_task()

    def _can_start(self) -> bool:
        """Whether a request has arrived that needs no task before it is started."""
        if len(self._messages) != 1 or self._paused:
            return False
        message, payload = self._messages[0]
        return payload is EMPTY_PAYLOAD and _leaves_open(message)

    def begin(self) -> Coroutine[Any, Any, Response] | None:
        """Start the request that has arrived, unless it was left to the task."""
        arrived = self._arrived
        if arrived is None or self.transport is None:
            return None
        message, payload = arrived
        try:
            request = self._make_request(message, payload, self, None, self._task_handler)
        except ValueError:  # refused in the task
            self._leave_to_task(arrived)
            return None
        self._started = request
        return self._answer(request)

    def end(self, outcome: Outcome[Response]) -> None:
        """Send the response to the request that was started, or leave the rest of it to the task."""
        arrived, request = self._arrived, self._started
        self._arrived = self._started = None
        parser, transport = self._parser, self.transport
        if arrived is None or request is None or parser is None or transport is None:
            return  # the connection was closed meanwhile
        if not isinstance(outcome, Written):
            self._begun = _Begun(request, outcome)
            self._leave_to_task(arrived)
        else:
            parser.message_consumed()
            if outcome.rest:
                transport.writelines((outcome.content, outcome.rest))
            else:
                transport.write(outcome.content)
            if self._closes:
                super().close()
                transport.close()
        if self._early:
            early, self._early = self._early, b""
            transport.resume_reading()
            self.data_received(early)

    def _leave_to_task(self, arrived: tuple[Any, StreamReader]) -> None:
        self._arrived = None
        self._messages.appendleft(arrived)
        self._wake_task()
        if self._closes:
            super().close()

    def _wake_task(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _request_of(
        self, message: Any, payload: StreamReader, protocol: Any, writer: AbstractStreamWriter, task: Any
    ) -> web.BaseRequest:
        """The request for aiohttp's task: the one that was started, if any.

        One whose address has an impossible host, such as `http://xn--a/`, is refused: outside of a request
        the error would end the task, and leave the connection open.
        """
        self._is_in_task = True
        made: Request
        if self._begun is None:
            try:
                made = self._make_request(message, payload, protocol, writer, task)
            except ValueError:
                made = self._make_request(ERROR, payload, protocol, writer, task)
                self._begun = _Begun(made, self.handle_error(made, HTTPStatus.BAD_REQUEST))
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
        if isinstance(rest, BaseException):
            raise rest
        response = rest if isinstance(rest, Written | web.StreamResponse) else await rest
        return ReadyResponse(response) if isinstance(response, Written) else response


def _leaves_open(message: Any) -> bool:
    """Whether a message is a request that another one can follow."""
    return not (
        isinstance(message, _ErrInfo)
        or message.should_close
        or message.upgrade
        or hdrs.EXPECT in message.headers
    )
