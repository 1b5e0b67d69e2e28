"""The headers that every answer carries: what browsers may do with it, how long caches keep it."""

from collections.abc import Mapping
from typing import Any

from multidict import CIMultiDict

from readapi import cors
from readapi.answers import Answer
from readapi.cache import Kept
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
    """Builds the headers of each answer on those that are always the same."""

    def __init__(self, settings: Settings, cross_origin: cors.Cors) -> None:
        vary = "Accept-Encoding, Origin" if cross_origin.varies else "Accept-Encoding"
        self._every = CIMultiDict({**_SAFE, **cors.ANYBODY, "Vary": vary})
        if settings.base_url.startswith("https://"):
            self._every["Strict-Transport-Security"] = _HSTS

    def of(self, answer: Answer[Any], cache_control: str) -> CIMultiDict[str]:
        """The headers of one answer. Its own win."""
        headers = self._every.copy()
        headers["Content-Type"] = answer.media_type
        headers["Cache-Control"] = cache_control
        if answer.headers:
            headers.update(answer.headers)
        return headers

    def of_kept(self, kept: Kept) -> CIMultiDict[str]:
        """The headers of an answer that may be sent many times: built once."""
        if kept.headers is None:
            kept.headers = self.of(kept.answer, PUBLIC)
            kept.headers["ETag"] = kept.etag
        return kept.headers.copy()
