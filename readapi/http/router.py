"""Addresses → handlers. aiohttp's router makes several objects and coroutines for each request.

A path without names wins, whatever the request's method. Of the patterns that support the method the most
explicit wins: the one with the longest fixed beginning, then the one that was added first.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import HttpVersion11, hdrs, web

from readapi.answers import Answer
from readapi.errors import NotFound

READY = (Answer, web.StreamResponse)
Response = Answer[Any] | web.StreamResponse
Reply = Response | Awaitable[Response]  # what waits for nothing is answered without a coroutine
Handler = Callable[[web.Request], Reply]
PATH_NAME = re.compile(
    r"{(\w+)(?::([^{}]*))?}"
)  # of a path: its name, and the expression that it has to match
PATH_VALUES = web.RequestKey("path_values", Mapping[str, str])  # the values of a path's names
_NO_VALUES: Mapping[str, str] = {}
_PART = "[^{}/]+"


class Router:
    """Finds the handler of a request by its path and method, and calls it."""

    def __init__(self) -> None:
        self._plain: dict[str, Mapping[str, Handler]] = {}
        self._patterns: dict[str, list[tuple[re.Pattern[str], Mapping[str, Handler]]]] = {}

    def add(self, path: str, handlers: Mapping[str, Handler]) -> None:
        """Add a path with its handlers by method. A name in braces matches one part, or its expression."""
        beginning, brace, _ = path.partition("{")
        if not brace:
            self._plain[path] = handlers
            return
        below = self._patterns.setdefault(beginning.rpartition("/")[0], [])
        below.append((_compile(path), handlers))

    def answer(self, request: web.Request) -> Reply:
        """Call the handler. Raises NotFound, and web.HTTPMethodNotAllowed with the allowed methods."""
        if hdrs.EXPECT in request.headers:
            return self._answer_expected(request)
        handler, request[PATH_VALUES] = self._find(plain_path(request), request.method)
        return handler(request)

    async def _answer_expected(self, request: web.Request) -> Response:
        await _let_continue(request)
        handler, request[PATH_VALUES] = self._find(plain_path(request), request.method)
        return await settle(handler(request))

    def _find(self, path: str, method: str) -> tuple[Handler, Mapping[str, str]]:
        if (handlers := self._plain.get(path)) is not None:
            if (handler := handlers.get(method)) is not None:
                return handler, _NO_VALUES
            raise web.HTTPMethodNotAllowed(method, sorted(handlers))
        allowed: set[str] = set()
        above = path
        while above:
            above = above.rpartition("/")[0]
            for pattern, handlers in self._patterns.get(above, ()):
                if (match := pattern.fullmatch(path)) is None:
                    continue
                if (handler := handlers.get(method)) is not None:
                    values = match.groupdict()
                    return handler, values if "%" not in path else _unescape(values)
                allowed.update(handlers)
        if allowed:
            raise web.HTTPMethodNotAllowed(method, sorted(allowed))
        raise NotFound


def plain_path(request: web.Request) -> str:
    """A request's path, in which only slashes and percent signs within names are still escaped."""
    path = request.raw_path.partition("?")[0]
    if path.startswith("/") and path.isascii() and "%" not in path and "#" not in path:
        return path  # as most are: to unescape one costs a microsecond
    return request.rel_url.path_safe


async def settle(reply: Reply) -> Response:
    """Await a reply that is not ready."""
    return reply if isinstance(reply, READY) else await reply


def _compile(path: str) -> re.Pattern[str]:
    fixed, *rest = PATH_NAME.split(path)
    names = zip(rest[::3], rest[1::3], rest[2::3], strict=True)
    return re.compile(
        re.escape(fixed)
        + "".join(f"(?P<{name}>{expression or _PART}){re.escape(after)}" for name, expression, after in names)
    )


def _unescape(values: Mapping[str, str]) -> dict[str, str]:
    """Slashes and percent signs are still escaped in a path that was split."""
    return {name: value.replace("%2F", "/").replace("%25", "%") for name, value in values.items()}


async def _let_continue(request: web.Request) -> None:
    """Send `100 Continue` to a client that waits for it before it sends the body."""
    if request.version != HttpVersion11:
        return
    if request.headers[hdrs.EXPECT].lower() != "100-continue":
        raise web.HTTPExpectationFailed
    await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    request.writer.output_size = 0  # `handle_error` takes it for a part of the answer otherwise
