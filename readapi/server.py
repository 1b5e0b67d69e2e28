"""aiohttp's server with the gate around the application, and the one error shape for what is no request."""

from http import HTTPStatus
from typing import Any

import structlog
from aiohttp import web

from readapi import errors
from readapi.gate import Gate

log = structlog.get_logger()


class _Connection(web.RequestHandler):
    """One client's connection."""

    def __init__(self, *args: Any, gate: Gate, **options: Any) -> None:
        super().__init__(*args, **options)
        self._gate = gate

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Refuse what the parser could not read, and end the connection: the rest cannot be read either."""
        if request.writer.output_size > 0:
            raise ConnectionError("half an answer is already sent")
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            log.error("request failed", exc_info=exc)
            response = self._gate.refuse(request, errors.Internal().answer())
        else:
            response = self._gate.refuse(request, errors.BadRequest().answer())
        response.force_close()
        return response


class _Server(web.Server):
    """Hands out connections of ours, whose requests pass the gate, and stop when nobody waits any more."""

    def __init__(self, plain: web.Server, gate: Gate, **options: Any) -> None:
        async def guarded(request: web.BaseRequest) -> web.StreamResponse:
            return await gate.answer(request, plain.request_handler)  # type: ignore[arg-type]

        super().__init__(guarded, request_factory=plain.request_factory, handler_cancellation=True, **options)
        self._options = options
        self._gate = gate

    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=self._loop, gate=self._gate, **self._options)


class Runner(web.AppRunner):
    """Runs an application behind the gate."""

    def __init__(self, app: web.Application, gate: Gate, **options: Any) -> None:
        super().__init__(app, access_log=None, **options)
        self._gate = gate

    async def _make_server(self) -> web.Server:
        return _Server(await super()._make_server(), self._gate, **self._kwargs)
