"""Answers → what is sent: conditional, compressed, with the headers of every answer."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from aiohttp import web
from multidict import CIMultiDict

from readapi.answers import Answer
from readapi.cache import Kept
from readapi.cors import Cors
from readapi.headers import NEVER, Headers
from readapi.limits import Allowance
from schemas.settings import Settings

Result = Answer[Any] | Kept | web.StreamResponse


class Responses:
    """Makes the framework's responses. `lag` is what X-Index-Lag says."""

    def __init__(self, settings: Settings, cors: Cors, lag: Callable[[], str | None]) -> None:
        self._headers = Headers(settings, cors)
        self._cors = cors
        self._lag = lag

    def of(
        self, result: Result, request: web.Request, request_id: str, allowance: Allowance | None
    ) -> web.StreamResponse:
        """What this request gets."""
        if isinstance(result, Kept):
            response: web.StreamResponse = self._kept(request, result)
        else:
            response = self._plain(result) if isinstance(result, Answer) else result
        headers = response.headers
        self._stamp(headers, request_id)
        if allowance is not None:
            for name, value in allowance.headers():
                headers[name] = value
        if self._cors.varies and self._cors.is_trusted(request):
            headers.update(self._cors.trusted)
        return response

    def to_nobody(self, answer: Answer[Any], request_id: str) -> web.Response:
        """What is sent when there was no request that could be read."""
        response = self._plain(answer)
        self._stamp(response.headers, request_id)
        return response

    def _kept(self, request: web.Request, kept: Kept) -> web.Response:
        headers = self._headers.of_kept(kept)
        asked = request.headers
        if "If-None-Match" in asked and matches(asked["If-None-Match"], kept.etag):
            del headers["Content-Type"]
            return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
        if kept.is_zippable and "gzip" in asked.get("Accept-Encoding", ""):
            headers["Content-Encoding"] = "gzip"
            return web.Response(body=kept.zipped(), headers=headers)
        return web.Response(body=kept.answer.body, headers=headers)

    def _plain(self, answer: Answer[Any]) -> web.Response:
        headers = self._headers.of(answer, NEVER)
        if answer.status == HTTPStatus.NO_CONTENT:
            del headers["Content-Type"]
        return web.Response(body=answer.body, status=answer.status, headers=headers)

    def _stamp(self, headers: CIMultiDict[str], request_id: str) -> None:
        headers["X-Request-Id"] = request_id
        lag = self._lag()
        if lag is not None:
            headers["X-Index-Lag"] = lag


def matches(if_none_match: str, etag: str) -> bool:
    """Weak comparison, as RFC 9110 asks for here."""
    if if_none_match.strip() == "*":
        return True
    return any(tag.strip().removeprefix("W/") == etag[2:] for tag in if_none_match.split(","))
