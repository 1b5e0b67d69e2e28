"""Renders an error as a small page, with the same code and message as the JSON error."""

from http import HTTPStatus
from typing import Any

import orjson

from readapi.answers import HTML, Answer
from readapi.http.request.headers import BY_ACCEPT
from readapi.pages import security_headers
from readapi.pages.render import Renderer

_GONE = "This is no longer available."


def error_page(refused: Answer[Any], path: str, renderer: Renderer) -> Answer[str]:
    """The page of a refusal; its status and headers stay. In a frame of another site it is one sentence."""
    told = orjson.loads(refused.body)
    if path.startswith("/embed/"):
        message = _GONE if refused.status == HTTPStatus.NOT_FOUND else told.get("message")
        body = renderer.page("embed_gone.html", message=message)
        headers = security_headers.page_headers(renderer.addresses.base_url)
        return Answer(body, HTML, refused.status, {**headers, **refused.headers, **BY_ACCEPT})
    shown = {name: told.get(name) for name in ("detail", "message")}
    body = renderer.page("error.html", status=refused.status, errors=told.get("errors") or (), **shown)
    headers = {**security_headers.bare_headers(), **refused.headers, **BY_ACCEPT}
    return Answer(body, HTML, refused.status, headers)
