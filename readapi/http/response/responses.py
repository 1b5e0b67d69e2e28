"""Answers → HTTP responses: conditional requests, compression, headers."""

import time
from collections.abc import Callable
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, NamedTuple

from aiohttp import HttpVersion11, web

from readapi.answers import Answer
from readapi.http.limits.rate_limits import Allowance
from readapi.http.response import headers
from readapi.http.response.cache import SMALLEST_ZIPPED_BYTES, Form, Kept, Way
from readapi.http.response.headers import NEVER, WITHOUT_BODY, Cors, Headers
from schemas.settings import Settings

Result = Answer[Any] | Kept | web.StreamResponse

# Numbers: members of an enumeration take a microsecond to hash.
_OK = HTTPStatus.OK.value
_UNCHANGED = HTTPStatus.NOT_MODIFIED.value
_LONGEST_COPIED = 1 << 14  # bytes of a body
_END = b"\r\n"
_CLOSE = b"Connection: close\r\n\r\n"
_KEEP = b"Connection: keep-alive\r\n\r\n"


class Written(NamedTuple):
    """A whole response as bytes: the framework would assemble the same ones each time.

    `content`: the head, and the body unless that is long: then it is the `rest`, which is sent after the head
    without being copied.
    """

    status: int
    content: bytes
    keep_alive: bool
    rest: bytes = b""


class Responses:
    """Makes responses. `lag` gives the value of X-Index-Lag."""

    def __init__(self, settings: Settings, cross_origin: Cors, lag: Callable[[], str | None]) -> None:
        self._headers = Headers(settings, cross_origin)
        self._cors = cross_origin
        self._varies = cross_origin.varies
        self._any_origin = headers.header_lines(headers.ANY_ORIGIN).decode()
        self._trusted = headers.header_lines({**headers.ANY_ORIGIN, **cross_origin.trusted}).decode()
        self._lag = lag
        self._clock = Clock()

    def of(
        self, result: Result, request: web.Request, request_id: str, allowance: Allowance | None
    ) -> Written | web.StreamResponse:
        """The response to a request."""
        stamp = self._stamp(request_id, allowance, self._varies and self._cors.is_trusted(request))
        if isinstance(result, Kept):
            form = self._kept(request, result)
        elif isinstance(result, Answer):
            form = self._plain(result)
        else:
            self._headers.complete(result)
            headers.add_headers(result, stamp)
            return result
        body = b"" if request.method == "HEAD" else form.body
        keep_alive = request.keep_alive
        # A Connection header where the HTTP version's default does not apply.
        end = _CLOSE if not keep_alive else _END if request.version >= HttpVersion11 else _KEEP
        if len(body) > _LONGEST_COPIED:
            return Written(form.status, b"".join((form.head, stamp, end)), keep_alive, body)
        return Written(form.status, b"".join((form.head, stamp, end, body)), keep_alive)

    def without_request(self, answer: Answer[Any], request_id: str) -> Written:
        """The response where no request could be parsed."""
        form = self._plain(answer)
        stamp = self._stamp(request_id, None, False)
        return Written(form.status, b"".join((form.head, stamp, _CLOSE, form.body)), keep_alive=False)

    def _kept(self, request: web.Request, kept: Kept) -> Form:
        asked = request.headers
        way: Way = "plain"
        if "If-None-Match" in asked and matches_etag(asked["If-None-Match"], kept.etag):
            way = "unchanged"
        elif len(kept.answer.body) >= SMALLEST_ZIPPED_BYTES and "gzip" in asked.get("Accept-Encoding", ""):
            way = "gzip"
        form = kept.forms.get(way)
        if form is None:
            form = kept.forms[way] = self._form(kept, way)
        return form

    def _form(self, kept: Kept, way: Way) -> Form:
        answer, told = kept.answer, f"ETag: {kept.etag}\r\n"
        if way == "unchanged":
            head = self._headers.head(answer, _UNCHANGED, kept.caching)
            return Form(_UNCHANGED, head + told.encode(), b"")
        body = answer.body
        if way == "gzip":
            body, told = kept.zipped(), f"{told}Content-Encoding: gzip\r\n"
        head = self._headers.head(answer, _OK, kept.caching)
        return Form(_OK, head + f"{told}Content-Length: {len(body)}\r\n".encode(), body)

    def _plain(self, answer: Answer[Any]) -> Form:
        head = self._headers.head(answer, answer.status, NEVER)
        if answer.status not in WITHOUT_BODY:
            head += b"Content-Length: %d\r\n" % len(answer.body)
        return Form(answer.status, head, answer.body)

    def _stamp(self, request_id: str, allowance: Allowance | None, is_trusted: bool) -> bytes:
        """The headers that differ per request."""
        constant = self._trusted if is_trusted else self._any_origin
        lag = self._lag()
        lag_line = "" if lag is None else f"X-Index-Lag: {lag}\r\n"
        limits = "" if allowance is None else allowance.lines()
        date = self._clock.date()
        return f"{constant}Date: {date}\r\nX-Request-Id: {request_id}\r\n{lag_line}{limits}".encode()


class Clock:
    """The Date header, formatted once a second."""

    def __init__(self) -> None:
        self._second, self._date = 0, ""

    def date(self) -> str:
        second = int(time.time())
        if second != self._second:
            self._second, self._date = second, formatdate(second, usegmt=True)
        return self._date


def matches_etag(if_none_match: str, etag: str) -> bool:
    """Weak comparison of ETags, as RFC 9110 requires for If-None-Match."""
    if if_none_match.strip() == "*":
        return True
    return any(tag.strip().removeprefix("W/") == etag[2:] for tag in if_none_match.split(","))
