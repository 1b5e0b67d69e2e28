"""THE ORDER in which every request is handled: read this first."""

import itertools
import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

import structlog
from aiohttp import web

from readapi import errors, framework
from readapi.access_log import AccessLog
from readapi.answers import HTML, Answer
from readapi.cache import AnswerCache, Kept
from readapi.clients import Clients
from readapi.cors import Cors
from readapi.endpoint import Endpoint
from readapi.headers import NEVER, Headers
from readapi.limits import Allowance, Limiter, Rate
from readapi.metrics import Metrics
from readapi.pages import refusals
from schemas.settings import Settings

log = structlog.get_logger()

Result = Answer[Any] | Kept | web.StreamResponse
Handler = Callable[[web.Request], Awaitable[Answer[Any] | web.StreamResponse]]

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_NO_ROUTE = "none"


class Gate:
    """One middleware: limit, find or make the answer, stamp it, count it, log it."""

    def __init__(
        self,
        settings: Settings,
        metrics: Metrics,
        access_log: AccessLog,
        version: Callable[[], object],
        lag: Callable[[], str | None],
        refusal_page: Callable[[Answer[Any]], Answer[Any]] | None = None,
    ) -> None:
        """`version` changes whenever answers may; `lag` is what X-Index-Lag says.

        `refusal_page` makes a refusal fit to be shown, where a browser asks for a page.
        """
        self.limiter = Limiter(Rate.of(settings), time.monotonic)
        self.cache = AnswerCache(settings.response_cache_bytes)
        self._clients = Clients(settings.trusted_proxies)
        self._cors = Cors(settings.web_url)
        self._headers = Headers(settings, self._cors)
        self._metrics = metrics
        self._access_log = access_log
        self._version = version
        self._lag = lag
        self._refusal_page = refusal_page
        self._endpoints: Mapping[Any, Endpoint] = {}
        self._ids = itertools.count()
        self._id_prefix = os.urandom(6).hex()

    def watch(self, metrics: Metrics) -> None:
        """Let the gate's own numbers be seen from outside."""
        cache, limiter = self.cache, self.limiter
        metrics.watch("fmsvc_cache_hits", "Answers found ready.", lambda: cache.hits)
        metrics.watch("fmsvc_cache_misses", "Answers that had to be made.", lambda: cache.misses)
        metrics.watch("fmsvc_cache_bytes", "Memory taken by ready answers.", lambda: cache.bytes)
        metrics.watch("fmsvc_rate_limited", "Requests refused by the limit.", lambda: limiter.refused)

    def guard(self, endpoints: Mapping[Any, Endpoint]) -> None:
        """Learn which handler belongs to which endpoint."""
        self._endpoints = endpoints

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer one request."""
        started = time.perf_counter()
        self._metrics.in_flight += 1
        request_id = self._request_id(request)
        endpoint = self._endpoints.get(request.match_info.handler)
        allowance = self._allowance(request, endpoint)
        try:
            result = await self._result(request, handler, endpoint, allowance)
        except errors.ApiError as error:
            result = error.answer()
        except web.HTTPException as error:
            result = framework.translate(error)
        except Exception:
            log.exception("request failed", request_id=request_id, path=request.path)
            result = errors.Internal().answer()
        finally:
            self._metrics.in_flight -= 1
        if isinstance(result, Answer) and result.status >= HTTPStatus.BAD_REQUEST:
            result = self._shown(request, endpoint, result)
        response = self._response(request, result)
        self._headers.stamp(response.headers, request, request_id, self._lag(), allowance)
        seconds = time.perf_counter() - started
        self._metrics.requests.count(endpoint.path if endpoint else _NO_ROUTE, response.status, seconds)
        self._access_log.add(request_id, request.method, request.path, response.status, seconds)
        return response

    def refuse(self, request: web.BaseRequest, answer: Answer[Any]) -> web.Response:
        """Answer what failed before it became a request to the application."""
        response = self._plain(answer)
        response.headers["X-Request-Id"] = request_id = self._new_id()
        lag = self._lag()
        if lag is not None:
            response.headers["X-Index-Lag"] = lag
        self._metrics.requests.count(_NO_ROUTE, response.status, 0.0)
        self._access_log.add(request_id, request.method, request.path, response.status, 0.0)
        return response

    def _shown(self, request: web.Request, endpoint: Endpoint | None, refused: Answer[Any]) -> Answer[Any]:
        """The refusal, as a page where somebody looks for one."""
        for_people = endpoint is None or HTML in endpoint.media_types
        if for_people and self._refusal_page and refusals.prefers_page(request.headers.get("Accept", "")):
            return self._refusal_page(refused)
        return refused

    def _allowance(self, request: web.Request, endpoint: Endpoint | None) -> Allowance | None:
        if endpoint is not None and endpoint.operational:
            return None
        return self.limiter.hit(self._clients.key(request))

    async def _result(
        self, request: web.Request, handler: Handler, endpoint: Endpoint | None, allowance: Allowance | None
    ) -> Result:
        if allowance is not None and not allowance.allowed:
            raise errors.RateLimited
        if endpoint is None:
            return self._preflight(request) or await handler(request)
        if endpoint.operational:
            return await handler(request)
        address, version = request.path_qs, self._version()
        kept = self.cache.find(address, version)
        if kept is None:
            made = await handler(request)
            if not isinstance(made, Answer) or made.status != 200:
                return made
            kept = Kept(made)
            self.cache.keep(address, version, kept)
        return kept

    def _preflight(self, request: web.Request) -> Answer[Any] | None:
        refused = request.match_info.http_exception
        if request.method != "OPTIONS" or not isinstance(refused, web.HTTPMethodNotAllowed):
            return None
        return Answer(b"", status=204, headers=self._cors.preflight(request, refused.allowed_methods))

    def _response(self, request: web.Request, result: Result) -> web.StreamResponse:
        if isinstance(result, Kept):
            return self._kept(request, result)
        return self._plain(result) if isinstance(result, Answer) else result

    def _kept(self, request: web.Request, kept: Kept) -> web.Response:
        headers = self._headers.of_kept(kept)
        asked = request.headers
        if "If-None-Match" in asked and _matches(asked["If-None-Match"], kept.etag):
            del headers["Content-Type"]
            return web.Response(status=304, headers=headers)
        if kept.is_zippable and "gzip" in asked.get("Accept-Encoding", ""):
            headers["Content-Encoding"] = "gzip"
            return web.Response(body=kept.zipped(), headers=headers)
        return web.Response(body=kept.answer.body, headers=headers)

    def _plain(self, answer: Answer[Any]) -> web.Response:
        headers = self._headers.of(answer.media_type, answer.headers, NEVER)
        if answer.status == 204:
            del headers["Content-Type"]
            return web.Response(status=204, headers=headers)
        return web.Response(body=answer.body, status=answer.status, headers=headers)

    def _request_id(self, request: web.Request) -> str:
        given = request.headers.get("X-Request-Id")
        return given if given is not None and _REQUEST_ID.fullmatch(given) else self._new_id()

    def _new_id(self) -> str:
        return f"{self._id_prefix}{next(self._ids):08x}"


def _matches(if_none_match: str, etag: str) -> bool:
    """Weak comparison, as RFC 9110 asks for here."""
    if if_none_match.strip() == "*":
        return True
    return any(tag.strip().removeprefix("W/") == etag[2:] for tag in if_none_match.split(","))
