"""Which web pages may read answers: all of them without credentials, the web application with them."""

from collections.abc import Mapping

from aiohttp import web
from yarl import URL

EXPOSED = (
    "Accept-Ranges, Content-Disposition, Content-Range, ETag, Link, RateLimit-Limit, RateLimit-Remaining,"
    " RateLimit-Reset, Retry-After, X-As-Of, X-Index-Lag, X-Request-Id"
)
ANYBODY: Mapping[str, str] = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": EXPOSED}
_ONE_DAY = "86400"


class Cors:
    """Knows the one origin that may send credentials."""

    def __init__(self, web_origin: str | None) -> None:
        # As browsers write it: in small letters, without the scheme's own port.
        web_origin = None if web_origin is None else str(URL(web_origin).origin())
        self._web_origin = web_origin
        self.trusted: Mapping[str, str] = {
            "Access-Control-Allow-Origin": web_origin or "*",
            "Access-Control-Allow-Credentials": "true",
        }

    @property
    def varies(self) -> bool:
        """True when answers depend on who asks, which caches must be told."""
        return self._web_origin is not None

    def is_trusted(self, request: web.Request) -> bool:
        """True when a page of the web application asks."""
        return self._web_origin is not None and request.headers.get("Origin") == self._web_origin

    def preflight(self, request: web.Request, methods: set[str]) -> dict[str, str]:
        """What a browser learns before it sends the real request."""
        allowed = ", ".join(sorted(methods | {"OPTIONS"}))
        headers = {"Allow": allowed, "Access-Control-Max-Age": _ONE_DAY}
        if self.is_trusted(request):
            headers["Access-Control-Allow-Methods"] = allowed
            headers["Access-Control-Allow-Headers"] = (
                "Authorization, Content-Type, Idempotency-Key, If-None-Match, If-Range, Range"
            )
        else:
            headers["Access-Control-Allow-Methods"] = ", ".join(
                sorted(methods & {"GET", "HEAD"} | {"OPTIONS"})
            )
            headers["Access-Control-Allow-Headers"] = "Content-Type, If-None-Match, If-Range, Range"
        return headers
