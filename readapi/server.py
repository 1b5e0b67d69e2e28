"""aiohttp's server, with the one error shape for what fails before the application is asked, too."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import structlog
from aiohttp import web

from readapi import errors, framework
from readapi.answers import Answer

log = structlog.get_logger()

Refuse = Callable[[web.BaseRequest, Answer[Any]], web.Response]


class _Connection(web.RequestHandler):
    """One client's connection."""

    def __init__(self, *args: Any, refuse: Refuse, **options: Any) -> None:
        super().__init__(*args, **options)
        self._refuse = refuse

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
            response = self._refuse(request, errors.Internal().answer())
        else:
            response = self._refuse(request, errors.BadRequest().answer())
        response.force_close()
        return response

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send a response. The framework's own refusals get our words first."""
        if isinstance(resp, web.HTTPException):
            resp = self._refuse(request, framework.translate(resp))
        return await super().finish_response(request, resp, start_time)


class _Server(web.Server):
    """Hands out connections of ours."""

    def __init__(self, plain: web.Server, refuse: Refuse, **options: Any) -> None:
        super().__init__(plain.request_handler, request_factory=plain.request_factory, **options)
        self._options = options
        self._refuse = refuse

    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=self._loop, refuse=self._refuse, **self._options)


class Runner(web.AppRunner):
    """Runs an application on our server."""

    def __init__(self, app: web.Application, refuse: Refuse, **options: Any) -> None:
        super().__init__(app, access_log=None, **options)
        self._refuse = refuse

    async def _make_server(self) -> web.Server:
        return _Server(await super()._make_server(), self._refuse, **self._kwargs)
