"""The headers of answers: what browsers may do, what caches may keep, what is left to ask."""

from collections.abc import Mapping

from aiohttp import web
from multidict import CIMultiDict

from readapi import cors
from readapi.cache import Kept
from readapi.limits import Allowance
from schemas.settings import Settings

PUBLIC = "public, max-age=2"
NEVER = "no-store"
_SAFE: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "strict-origin-when-cross-origin",
    "Server": "fmsvc",
    "X-Content-Type-Options": "nosniff",
}
_HSTS = "max-age=31536000"


class Headers:
    """Builds the headers of each answer on those that every answer carries."""

    def __init__(self, settings: Settings, cross_origin: cors.Cors) -> None:
        self._cors = cross_origin
        vary = "Accept-Encoding, Origin" if cross_origin.varies else "Accept-Encoding"
        self._every = CIMultiDict({**_SAFE, **cors.ANYBODY, "Vary": vary})
        if settings.base_url.startswith("https://"):
            self._every["Strict-Transport-Security"] = _HSTS

    def of(self, media_type: str, own: Mapping[str, str], cache_control: str) -> CIMultiDict[str]:
        """The headers of one answer. Its own win."""
        headers = self._every.copy()
        headers["Content-Type"] = media_type
        headers["Cache-Control"] = cache_control
        headers.update(own)
        return headers

    def of_kept(self, kept: Kept) -> CIMultiDict[str]:
        """The headers of an answer that may be sent many times: built once."""
        if kept.headers is None:
            answer = kept.answer
            kept.headers = self.of(answer.media_type, {"ETag": kept.etag, **answer.headers}, PUBLIC)
        return kept.headers.copy()

    def stamp(
        self,
        headers: CIMultiDict[str],
        request: web.Request,
        request_id: str,
        lag: str | None,
        allowance: Allowance | None,
    ) -> None:
        """Add what differs from request to request."""
        headers["X-Request-Id"] = request_id
        if lag is not None:
            headers["X-Index-Lag"] = lag
        if allowance is not None:
            for name, value in allowance.headers():
                headers[name] = value
        if self._cors.varies and self._cors.is_trusted(request):
            headers.update(self._cors.trusted)
