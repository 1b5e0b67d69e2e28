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
from readapi.http.request.request import Request

READY = (Answer, web.StreamResponse)
Response = Answer[Any] | web.StreamResponse
Reply = Response | Awaitable[Response]  # what waits for nothing is answered without a coroutine
Handler = Callable[[Request], Reply]
PATH_NAME = re.compile(
    r"{(\w+)(?::([^{}]*))?}"
)  # of a path: its name, and the expression that it has to match
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

    def answer(self, request: Request) -> Reply:
        """Call the handler. Raises NotFound, and web.HTTPMethodNotAllowed with the allowed methods."""
        if hdrs.EXPECT in request.headers:
            return self._answer_expected(request)
        return self._find(request)(request)

    async def _answer_expected(self, request: Request) -> Response:
        await _let_continue(request)
        return await settle(self._find(request)(request))

    def _find(self, request: Request) -> Handler:
        """The handler, for which the request has the values of the path's names."""
        path, method = request.plain_path, request.method
        if (handlers := self._plain.get(path)) is not None:
            if (handler := handlers.get(method)) is not None:
                return handler
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
                    request.path_values = values if "%" not in path else _unescape(values)
                    return handler
                allowed.update(handlers)
        if allowed:
            raise web.HTTPMethodNotAllowed(method, sorted(allowed))
        raise NotFound


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
