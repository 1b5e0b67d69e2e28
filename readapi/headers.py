"""The headers that every answer carries: what browsers may do with it, how long caches keep it."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from aiohttp import web

from readapi.answers import Answer
from readapi.cache import Form
from readapi.cors import Cors
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
_WITHOUT_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)


class Headers:
    """Writes the head of each answer, on those headers that are always the same."""

    def __init__(self, settings: Settings, cross_origin: Cors) -> None:
        vary = "Accept-Encoding, Origin" if cross_origin.varies else "Accept-Encoding"
        self._every = {**_SAFE, "Vary": vary}
        if settings.base_url.startswith("https://"):
            self._every["Strict-Transport-Security"] = _HSTS

    def form(self, status: int, own: Mapping[str, str], body: bytes) -> Form:
        """The answer as it is sent, but for what differs between requests. Its own headers win."""
        headers = {**self._every, **own}
        if status in _WITHOUT_BODY:
            headers.pop("Content-Type", None)
        else:
            headers["Content-Length"] = str(len(body))
        status_line = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
        return Form(status, status_line.encode() + lines(headers), body)


def of(answer: Answer[Any], cache_control: str) -> dict[str, str]:
    """The headers that are one answer's own."""
    return {"Content-Type": answer.media_type, "Cache-Control": cache_control, **answer.headers}


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
