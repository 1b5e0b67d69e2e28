"""Renders an error as a small page, with the same code and message as the JSON error."""

from typing import Any

import orjson

from readapi.answers import HTML, Answer
from readapi.http.request.headers import BY_ACCEPT
from readapi.pages import security_headers
from readapi.pages.render import Renderer


def error_page(refused: Answer[Any], renderer: Renderer) -> Answer[str]:
    """The page of a refusal; its status and headers stay."""
    told = orjson.loads(refused.body)
    shown = {name: told.get(name) for name in ("detail", "message")}
    body = renderer.page("error.html", status=refused.status, errors=told.get("errors") or (), **shown)
    headers = {**security_headers.bare_headers(), **refused.headers, **BY_ACCEPT}
    return Answer(body, HTML, refused.status, headers)
