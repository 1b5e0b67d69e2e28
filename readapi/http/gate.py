"""THE ORDER in which every request is handled: read this first."""

import itertools
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterable
from http import HTTPStatus
from typing import Any

import structlog
from aiohttp import hdrs, web
from multidict import istr

from readapi import errors
from readapi.answers import HTML, Answer
from readapi.errors import BadRequest, Internal, MethodNotAllowed, NotFound, TooLarge, refusal
from readapi.http.access_log import AccessLog
from readapi.http.cohort import next_stage
from readapi.http.endpoint import Endpoint
from readapi.http.limits.clients import Clients
from readapi.http.limits.rate_limits import Allowance, RateLimits, Spent
from readapi.http.request import api_keys
from readapi.http.request import headers as request_headers
from readapi.http.request.cookies import Cookies
from readapi.http.request.request import Request, plain_path
from readapi.http.response import labelers, xrpc
from readapi.http.response.cache import AnswerCache, Kept
from readapi.http.response.headers import PRIVATE, Cors
from readapi.http.response.labelers import Labelers
from readapi.http.response.responses import Responses, Result, Written
from readapi.http.router import READY, Reply, Response, settle
from readapi.http.viewer import Requester
from readapi.metrics import Metrics
from readapi.state.db.away import DatabaseAway
from schemas.errors import Code, ErrorBody
from schemas.settings import Settings

log = structlog.get_logger()

Application = Callable[[Request], Reply]
WhoAsks = Callable[[Request], Requester | Awaitable[Requester | None] | None]

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_REQUEST_ID_HEADER = istr("X-Request-Id")
_NO_ROUTE = "none"
_OK = HTTPStatus.OK.value
_READY_RESULT = (Kept, *READY)


# Of a read: its request, the labelers it chose, whether an account sent it, its name in the cache, and the
# version of the stores.
_Asked = tuple[Request, tuple[str, ...] | None, bool, str, object]


class Gate:
    """Around the application: authenticate, rate-limit, find or make the answer, respond, count, log."""

    def __init__(
        self,
        settings: Settings,
        endpoints: Iterable[Endpoint],
        who_asks: WhoAsks,
        limits: RateLimits,
        metrics: Metrics,
        access_log: AccessLog,
        version: Callable[[], object],
        lag: Callable[[], str | None],
        refusal_page: Callable[[Answer[Any], str, str | None], Answer[Any]] | None = None,
        rest_refusal: Callable[[Answer[Any], Request], Answer[Any]] | None = None,
    ) -> None:
        """`version` changes whenever answers may; `lag` gives the value of X-Index-Lag.

        `refusal_page` renders a refusal at a path as an HTML page, for browsers that navigate; its last
        argument is the path of the page whose form was refused, if one was. `rest_refusal` renders one of a
        method of OpenSubsonic in that protocol's form.
        """
        self.limits = limits
        self.cache = AnswerCache(settings.response_cache_bytes)
        self._operational = {endpoint.path for endpoint in endpoints if endpoint.operational}
        self._who_asks = who_asks
        self._clients = Clients(settings.trusted_proxies)
        self._cookies = Cookies(settings)
        self._labelers = Labelers(settings)
        self._cors = Cors(settings.web_url, settings.mcp_origins)
        self._responses = Responses(settings, self._cors, lag)
        self._metrics = metrics
        self._access_log = access_log
        self._version = version
        self._refusal_page = refusal_page
        self._rest_refusal = rest_refusal
        self._ids = itertools.count()
        self._id_prefix = os.urandom(6).hex()

    async def answer(self, application: Application, request: Request) -> Written | web.StreamResponse:
        """Answer one request."""
        started = time.perf_counter()
        self._metrics.in_flight += 1
        path = request.raw_path.partition("?")[0]
        request.plain_path = plain_path(request, path)
        allowance: Allowance | None = None
        requester: Requester | None = None
        try:
            if path in self._operational:
                result: Result = await settle(application(request))
            else:
                # Most requests wait for none of these; then they are answered without a task.
                found = self._who_asks(request)
                requester = found if found is None or isinstance(found, Requester) else await found
                counted = self._count(request, requester)
                allowance = counted if isinstance(counted, Allowance) else await counted
                if not allowance.allowed:
                    raise Spent(allowance)
                await next_stage()
                made = self._result(request, application, requester)
                result = made if isinstance(made, _READY_RESULT) else await made
        except Spent as spent:
            allowance, result = (
                spent.allowance,
                self._shown(request, errors.RateLimited.ending_in(spent.allowance.wait_seconds).answer()),
            )
        except errors.ApiError as error:
            result = self._shown(request, error.answer())
        except web.HTTPException as error:
            result = self._preflight(request, error) or self._shown(request, translate_error(error))
        except DatabaseAway as error:
            log.warning("state database away", path=path, reason=str(error).partition("\n")[0])
            result = self._shown(request, errors.StateUnavailable().answer())
        except Exception:
            log.exception("request failed", path=path)
            result = self._shown(request, errors.Internal().answer())
        finally:
            self._metrics.in_flight -= 1
        if requester is not None and requester.renewed_cookie is not None:
            result = self._renewing(result, requester.renewed_cookie)
        await next_stage()
        request_id = self._request_id(request)
        response = self._responses.of(result, request, request_id, allowance)
        seconds = time.perf_counter() - started
        route = result.route if isinstance(result, Kept) else _route(request)
        self._metrics.requests.count(route, response.status, seconds)
        self._access_log.add(request_id, request.method, path, response.status, seconds)
        return response

    def refuse(self, request: web.BaseRequest, refused: Answer[Any]) -> Written:
        """Answer what failed before it became a request to the application."""
        request_id = self._new_id()
        self._metrics.requests.count(_NO_ROUTE, refused.status, 0.0)
        self._access_log.add(request_id, request.method, request.path, refused.status, 0.0)
        return self._responses.without_request(refused, request_id)

    def watch(self, metrics: Metrics) -> None:
        """Register the gate's own numbers as metrics."""
        cache, limits = self.cache, self.limits
        metrics.tally("fmsvc_cache_hits", "Answers found ready.", lambda: cache.hits)
        metrics.tally("fmsvc_cache_misses", "Answers that had to be made.", lambda: cache.misses)
        metrics.watch("fmsvc_cache_bytes", "Memory taken by ready answers.", lambda: cache.bytes)
        metrics.tally("fmsvc_rate_limited", "Requests refused by the limit.", lambda: limits.refused)

    def _count(self, request: Request, requester: Requester | None) -> Allowance | Awaitable[Allowance]:
        """Count the request for the account, or for the client's address when it has no account."""
        named = None if requester is None or requester.signed_in is None else requester.signed_in.did
        request.client = self._clients.key(request)
        # Other spellings of a path reach the same route; escaped slashes are part of a name.
        return self.limits.hit(named or request.client, request.plain_path, request.method)

    def _result(
        self, request: Request, application: Application, requester: Requester | None
    ) -> Result | Awaitable[Result]:
        """The answer: from the cache, or made by the application and cached."""
        request.requester = requester
        if request.method not in ("GET", "HEAD"):
            return application(request)
        # Some routes admit accounts whose grant has ended, so their answers are personal too.
        is_signed_in = requester is not None and requester.signed_in is not None
        version = self._version()
        accepted = request.headers.get(labelers.ACCEPTED)
        chosen = None if accepted is None else self._labelers.choose(accepted)
        cached_as = _cache_key(request) if chosen is None else f"{_cache_key(request)} {chosen}"
        kept = self.cache.find(cached_as, version)
        if kept is not None and not (is_signed_in and kept.caching.is_anonymous):
            return kept

        asked: _Asked = (request, chosen, is_signed_in, cached_as, version)
        made = application(request)
        return self._cache(made, asked) if isinstance(made, READY) else self._cache_later(made, asked)

    async def _cache_later(self, made: Awaitable[Response], asked: _Asked) -> Result:
        return self._cache(await made, asked)

    def _cache(self, made: Response, asked: _Asked) -> Result:
        """An answer with its ETag, and kept unless it depends on more than the address and the stores."""
        request, chosen, is_signed_in, cached_as, version = asked
        if not isinstance(made, Answer) or made.status != _OK:
            return made
        if chosen is not None:
            made = labelers.narrow_labels(made, chosen)
        endpoint = request.endpoint
        assert endpoint is not None  # which made the answer
        if endpoint.acts:
            return made
        kept = Kept(made, endpoint.path, endpoint.caching_of_accounts if is_signed_in else endpoint.caching)
        if endpoint.is_of_stores and kept.caching.control != PRIVATE.control and "Vary" not in made.headers:
            self.cache.keep(cached_as, version, kept)
        return kept

    def _renewing(self, result: Result, session_id: str) -> Result:
        """The same with a renewed session cookie, not cacheable by others. Streams go without the cookie."""
        answer = result.answer if isinstance(result, Kept) else result
        if isinstance(answer, web.StreamResponse) or "Set-Cookie" in answer.headers:
            return answer
        return answer._replace(headers={**answer.headers, **self._cookies.session(session_id)})

    def _preflight(self, request: Request, refused: web.HTTPException) -> Answer[Any] | None:
        """The answer to a CORS preflight request; None for other requests."""
        if request.method != "OPTIONS" or not isinstance(refused, web.HTTPMethodNotAllowed):
            return None
        headers = self._cors.preflight(request, refused.allowed_methods)
        return Answer(b"", status=HTTPStatus.NO_CONTENT, headers=headers)

    def _shown(self, request: Request, refused: Answer[Any]) -> Answer[Any]:
        """The refusal in the form of the method's protocol, and as an HTML page where a browser navigates."""
        endpoint = request.endpoint
        if self._rest_refusal is not None and api_keys.is_under_rest(request):
            return self._rest_refusal(refused, request)
        if request.raw_path.startswith(xrpc.PREFIX):
            return xrpc.convert_refusal(refused, known=endpoint is not None)
        for_people = endpoint is None or HTML in endpoint.media_types
        if (
            for_people
            and self._refusal_page
            and request_headers.prefers_page(request.headers.get("Accept", ""))
        ):
            page = None if endpoint is None else endpoint.page_of_form(request)
            return self._refusal_page(refused, request.raw_path, page)
        return refused

    def _request_id(self, request: Request) -> str:
        given = request.headers.get(_REQUEST_ID_HEADER)
        if given is not None and _REQUEST_ID.fullmatch(given):
            return given
        return self._new_id()

    def _new_id(self) -> str:
        return f"{self._id_prefix}{next(self._ids):08x}"


def _cache_key(request: Request) -> str:
    """The address; for browsers apart, since some addresses have a page for them and JSON for programs."""
    accepted = request.headers.get(hdrs.ACCEPT, "")
    if "text/html" in accepted and request_headers.prefers_page(accepted):
        return f"page {request.raw_path}"
    return request.raw_path


def _route(request: Request) -> str:
    """The pattern of the route, which metrics are labelled with."""
    endpoint = request.endpoint
    return endpoint.path if endpoint else _NO_ROUTE


def translate_error(error: web.HTTPException) -> Answer[ErrorBody]:
    """The framework's HTTP error in our error shape. Of its headers only `Allow` is of use to clients."""
    headers = {name: error.headers[name] for name in ("Allow",) if name in error.headers}
    for kind in (NotFound, MethodNotAllowed, TooLarge, BadRequest):
        if error.status == kind.status:
            return kind(headers=headers).answer()
    if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Internal().answer()
    return refusal(error.status, Code.INVALID_REQUEST, f"{error.reason}.", headers=headers)
