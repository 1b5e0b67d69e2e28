"""A refusal for people: the same code and sentence as the JSON that programs get, as a small page."""

from typing import Any

import orjson

from readapi.accept import BY_ACCEPT, Accept
from readapi.answers import HTML, JSON, Answer
from readapi.pages import policy
from readapi.pages.render import Renderer


def prefers_page(accept: str) -> bool:
    """True when an Accept header puts HTML before JSON, as browsers do."""
    return Accept(accept).prefers("text/html", JSON)


def page(refused: Answer[Any], renderer: Renderer) -> Answer[str]:
    """The page of a refusal; its status and headers stay."""
    told = orjson.loads(refused.body)
    shown = {name: told.get(name) for name in ("detail", "message")}
    body = renderer.page("error.html", status=refused.status, errors=told.get("errors") or (), **shown)
    headers = {**policy.bare_headers(), **refused.headers, **BY_ACCEPT}
    return Answer(body, HTML, refused.status, headers)
