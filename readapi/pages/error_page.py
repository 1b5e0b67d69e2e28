"""Renders an error as a small page, with the code and message of the JSON error, or leads back to a form."""

from http import HTTPStatus
from typing import Any

import orjson

from readapi.answers import HTML, Answer
from readapi.http.request.headers import BY_ACCEPT
from readapi.pages import responses, security_headers
from readapi.pages.render import Renderer
from schemas.errors import Code

_GONE = "This is no longer available."


def error_page(refused: Answer[Any], path: str, form_on: str | None, renderer: Renderer) -> Answer[str]:
    """The page of a refusal; its status and headers stay. In a frame of another site it is one sentence.

    `form_on`: the page with the form that was refused. Accounts that may not send it are led back there.
    """
    told = orjson.loads(refused.body)
    if form_on is not None and refused.status == HTTPStatus.UNAUTHORIZED:
        return responses.sign_in(form_on, "sign-in-first")
    if form_on is not None and told.get("detail") == Code.SCOPE_UPGRADE_REQUIRED:
        return responses.redirect_with_notice(form_on, "permission-missing")
    errors = told.get("errors") or ()
    if path.startswith("/embed/"):
        message = _GONE if refused.status == HTTPStatus.NOT_FOUND else told.get("message")
        body = renderer.page("embed_gone.html", message=message, errors=errors)
        headers = security_headers.page_headers(renderer.addresses.base_url)
        return Answer(body, HTML, refused.status, {**headers, **refused.headers, **BY_ACCEPT})
    shown = {name: told.get(name) for name in ("detail", "message")}
    body = renderer.page("error.html", status=refused.status, errors=errors, form_on=form_on, **shown)
    headers = {**security_headers.bare_headers(), **refused.headers, **BY_ACCEPT}
    return Answer(body, HTML, refused.status, headers)
