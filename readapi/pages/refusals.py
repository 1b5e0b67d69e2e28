"""A refusal for people: the same code and sentence as the JSON that programs get, as a small page."""

from typing import Any

import orjson

from readapi.answers import HTML, Answer
from readapi.pages import policy
from readapi.pages.render import Renderer

_HTML, _JSON = "text/html", "application/json"


def prefers_page(accept: str) -> bool:
    """True when an Accept header puts HTML before JSON, as browsers do. Wildcards do not count."""
    weights = {_HTML: 0.0, _JSON: 0.0}
    for part in accept.split(","):
        media_type, *parameters = (piece.strip().lower() for piece in part.split(";"))
        if media_type in weights:
            weights[media_type] = _weight(parameters)
    return weights[_HTML] > weights[_JSON]


def page(refused: Answer[Any], renderer: Renderer) -> Answer[str]:
    """The page of a refusal; its status and headers stay."""
    told = orjson.loads(refused.body)
    shown = {name: told.get(name) for name in ("detail", "message")}
    body = renderer.page("error.html", status=refused.status, errors=told.get("errors") or (), **shown)
    headers = {**policy.bare_headers(), **refused.headers, "Vary": "Accept, Accept-Encoding"}
    return Answer(body, HTML, refused.status, headers)


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
