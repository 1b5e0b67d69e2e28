"""Response headers: CORS, caching, security, and the heads of responses as bytes."""

from collections.abc import Collection, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

from aiohttp import web
from yarl import URL

from readapi.answers import Answer
from readapi.http.response.labelers import ACCEPTED, Labelers
from schemas.settings import Settings

EXPOSED = (
    "Accept-Ranges, Content-Disposition, Content-Range, ETag, Link, RateLimit-Limit, RateLimit-Remaining,"
    " RateLimit-Reset, Retry-After, X-As-Of, X-Index-Lag, X-Request-Id, atproto-content-labelers"
)


ANY_ORIGIN: Mapping[str, str] = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": EXPOSED}


MCP_PATH = "/mcp"
MCP_HEADERS = ", Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id"
_ONE_DAY = "86400"


class Cors:
    """CORS: any origin may read public answers, only the web application's may send credentials.

    Pages of `mcp_origins` may send messages to `/mcp`, with a token if they have one, never with a cookie.
    """

    def __init__(self, web_origin: str | None, mcp_origins: Collection[str] = ()) -> None:
        # As browsers write it: in lower case, without the default port.
        web_origin = None if web_origin is None else str(URL(web_origin).origin())
        self._web_origin = web_origin
        self._mcp_origins = frozenset(mcp_origins)
        self.trusted: Mapping[str, str] = {
            "Access-Control-Allow-Origin": web_origin or "*",
            "Access-Control-Allow-Credentials": "true",
        }

    @property
    def varies(self) -> bool:
        """True when answers depend on the Origin header, which caches learn from Vary."""
        return self._web_origin is not None

    def is_trusted(self, request: web.Request) -> bool:
        """True when a page of the web application sent the request."""
        return self._web_origin is not None and request.headers.get("Origin") == self._web_origin

    def preflight(self, request: web.Request, methods: set[str]) -> dict[str, str]:
        """The headers that answer a preflight request."""
        allowed = ", ".join(sorted(methods | {"OPTIONS"}))
        headers = {"Allow": allowed, "Access-Control-Max-Age": _ONE_DAY}
        of_mcp = request.path == MCP_PATH and request.headers.get("Origin") in self._mcp_origins
        if of_mcp or self.is_trusted(request):
            headers["Access-Control-Allow-Methods"] = allowed
            headers["Access-Control-Allow-Headers"] = (
                "Authorization, Content-Type, Idempotency-Key, If-None-Match, If-Range, Range"
                f", {ACCEPTED}" + (MCP_HEADERS if request.path == MCP_PATH else "")
            )
        else:
            headers["Access-Control-Allow-Methods"] = ", ".join(
                sorted(methods & {"GET", "HEAD"} | {"OPTIONS"})
            )
            headers["Access-Control-Allow-Headers"] = (
                f"Content-Type, If-None-Match, If-Range, Range, {ACCEPTED}"
            )
        return headers


class Caching(NamedTuple):
    """Who may cache an answer, and which request headers it depends on."""

    control: str
    varies: tuple[str, ...] = ()

    @property
    def is_anonymous(self) -> bool:
        """Whether it is of an answer to an anonymous request, which signed-in ones do not get."""
        return self.control == PUBLIC.control and "Cookie" in self.varies

    def by_accept(self) -> "Caching":
        """The same for an address that has a page for browsers and JSON for programs."""
        return Caching(self.control, (*self.varies, "Accept"))


_WHO_ASKS = ("Authorization", "Cookie")
PUBLIC = Caching("public, max-age=2")
ANONYMOUS = Caching(PUBLIC.control, _WHO_ASKS)  # for anonymous requests; signed-in ones get another answer
PRIVATE = Caching("private, no-cache", _WHO_ASKS)
NEVER = Caching("no-store")
_SAFE: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "strict-origin-when-cross-origin",
    "Server": "fmsvc",
    "X-Content-Type-Options": "nosniff",
}
NO_REFERRER: Mapping[str, str] = {"Referrer-Policy": "no-referrer"}
_OF_SOUND = Caching("public, max-age=0, must-revalidate", _WHO_ASKS)
_OF_PICTURES = "public, max-age=31536000, s-maxage=0, immutable"
_HSTS = "max-age=31536000"
WITHOUT_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)


class Headers:
    """Writes the heads of responses: the constant headers and an answer's own."""

    def __init__(self, settings: Settings, cross_origin: Cors) -> None:
        self._varies = ("Accept-Encoding", ACCEPTED, *(("Origin",) if cross_origin.varies else ()))
        self._every = {**_SAFE, **Labelers(settings).constant_header}
        if settings.base_url.startswith("https://"):
            self._every["Strict-Transport-Security"] = _HSTS
        self._constant = frozenset({*self._every, "Content-Type", "Cache-Control", "Vary"})
        # What is written before an answer's own headers, and after them. There are few; none changes.
        self._usual: dict[tuple[int, str, Caching], tuple[bytes, bytes]] = {}

    def head(self, answer: Answer[Any], status: int, caching: Caching) -> bytes:
        """The status line and headers; the answer's own headers override the constant ones."""
        if not self._constant.isdisjoint(answer.headers):
            return self._head(answer, status, caching)
        key = status, answer.media_type, caching
        usual = self._usual.get(key)
        if usual is None:
            usual = self._usual[key] = self._around(answer.media_type, status, caching)
        before, after = usual
        return before + header_lines(answer.headers) + after if answer.headers else before + after

    def complete(self, response: web.StreamResponse) -> None:
        """Add the constant headers to a response of the framework; its own win."""
        for name, value in self._every.items():
            response.headers.setdefault(name, value)
        if "Vary" in response.headers and "Origin" in self._varies:
            response.headers["Vary"] += ", Origin"

    def _head(self, answer: Answer[Any], status: int, caching: Caching) -> bytes:
        headers = {**self._before(answer.media_type, status, caching), **answer.headers}
        headers["Vary"] = ", ".join([*self._varies, *caching.varies, *_own_lines(answer)])
        return _status_line(status) + header_lines(headers)

    def _around(self, media_type: str, status: int, caching: Caching) -> tuple[bytes, bytes]:
        before = _status_line(status) + header_lines(self._before(media_type, status, caching))
        return before, header_lines({"Vary": ", ".join([*self._varies, *caching.varies])})

    def _before(self, media_type: str, status: int, caching: Caching) -> dict[str, str]:
        content = {} if status in WITHOUT_BODY else {"Content-Type": media_type}
        return {**self._every, **content, "Cache-Control": caching.control}


def _status_line(status: int) -> bytes:
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()


def audio_headers(is_public: bool) -> dict[str, str]:
    """The headers of audio: any page may play it. Caches may store public audio, and ask before each use.

    What is taken down, or is not public any more, then ends at caches as it does here.
    """
    caching = _OF_SOUND if is_public else PRIVATE
    return {
        "Cache-Control": caching.control,
        "Vary": ", ".join(caching.varies),
        "Cross-Origin-Resource-Policy": "cross-origin",
    }


def picture_headers(is_public: bool) -> dict[str, str]:
    """The headers of a picture in one size, which never changes: browsers keep it.

    Shared caches ask before each use, so that a takedown reaches them. What is not public, they do not cache.
    """
    if is_public:
        return {"Cache-Control": _OF_PICTURES, "Cross-Origin-Resource-Policy": "cross-origin"}
    return {
        "Cache-Control": PRIVATE.control,
        "Vary": ", ".join(PRIVATE.varies),
        "Cross-Origin-Resource-Policy": "same-origin",
    }


def _own_lines(answer: Answer[Any]) -> list[str]:
    return [answer.headers["Vary"]] if "Vary" in answer.headers else []


def header_lines(headers: Mapping[str, str]) -> bytes:
    """Headers as bytes. Raises ValueError for a value with a line break."""
    text = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if text.count("\n") != len(headers) or text.count("\r") != len(headers):
        raise ValueError("a header with a line break in it")
    return text.encode()


def add_headers(response: web.StreamResponse, written: bytes) -> None:
    """Add header lines that are bytes already to a response of the framework."""
    for line in written.decode().splitlines():
        name, _, value = line.partition(": ")
        response.headers[name] = value
