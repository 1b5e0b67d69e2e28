"""The headers that every answer carries: what browsers may do with it, how long caches keep it."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

from aiohttp import web

from readapi.answers import Answer
from readapi.cors import Cors
from schemas.settings import Settings


class Caching(NamedTuple):
    """Who may keep an answer, and which headers of the request it depends on."""

    control: str
    varies: tuple[str, ...] = ()


_WHO_ASKS = ("Authorization", "Cookie")
PUBLIC = Caching("public, max-age=2")
OF_NOBODY = Caching(PUBLIC.control, _WHO_ASKS)  # to somebody it would be another
PRIVATE = Caching("private, no-cache", _WHO_ASKS)
NEVER = Caching("no-store")
_SAFE: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "strict-origin-when-cross-origin",
    "Server": "fmsvc",
    "X-Content-Type-Options": "nosniff",
}
NO_REFERRER: Mapping[str, str] = {"Referrer-Policy": "no-referrer"}
_OF_SOUND = Caching("public, max-age=60", _WHO_ASKS)
_HSTS = "max-age=31536000"
WITHOUT_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)


class Headers:
    """Writes the heads of answers, on those headers that are always the same."""

    def __init__(self, settings: Settings, cross_origin: Cors) -> None:
        self._varies = ("Accept-Encoding", "Origin") if cross_origin.varies else ("Accept-Encoding",)
        self._every = dict(_SAFE)
        if settings.base_url.startswith("https://"):
            self._every["Strict-Transport-Security"] = _HSTS
        self._usual: dict[tuple[int, str, Caching], bytes] = {}

    def head(self, answer: Answer[Any], status: int, caching: Caching) -> bytes:
        """What begins an answer: the status line, and headers, of which the answer's own win."""
        if answer.headers:
            return self._head(answer, status, caching)
        usual = status, answer.media_type, caching
        if usual not in self._usual:
            self._usual[usual] = self._head(answer, status, caching)
        return self._usual[usual]

    def complete(self, response: web.StreamResponse) -> None:
        """Give a response of the framework's what every answer carries; what it says itself wins."""
        for name, value in self._every.items():
            response.headers.setdefault(name, value)
        if "Vary" in response.headers and "Origin" in self._varies:
            response.headers["Vary"] += ", Origin"

    def _head(self, answer: Answer[Any], status: int, caching: Caching) -> bytes:
        content = {} if status in WITHOUT_BODY else {"Content-Type": answer.media_type}
        headers = {**self._every, **content, "Cache-Control": caching.control, **answer.headers}
        headers["Vary"] = ", ".join([*self._varies, *caching.varies, *_own(answer)])
        return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode() + lines(headers)


def of_sound(is_public: bool) -> dict[str, str]:
    """Any page may play it; caches keep for a while what everybody may have."""
    caching = _OF_SOUND if is_public else PRIVATE
    return {
        "Cache-Control": caching.control,
        "Vary": ", ".join(caching.varies),
        "Cross-Origin-Resource-Policy": "cross-origin",
    }


def _own(answer: Answer[Any]) -> list[str]:
    return [answer.headers["Vary"]] if "Vary" in answer.headers else []


def lines(headers: Mapping[str, str]) -> bytes:
    """Headers as they are sent. Raises ValueError for one that would end its line."""
    text = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if text.count("\n") != len(headers) or text.count("\r") != len(headers):
        raise ValueError("a header with a line break in it")
    return text.encode()


def add(response: web.StreamResponse, written: bytes) -> None:
    """Put headers that are written already into a response of the framework's."""
    for line in written.decode().splitlines():
        name, _, value = line.partition(": ")
        response.headers[name] = value
