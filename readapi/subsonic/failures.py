"""Refusals with the numbers of OpenSubsonic: https://opensubsonic.netlify.app/docs/responses/error. Pure."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import orjson

from readapi.answers import Answer
from readapi.http.request.validation import REQUIRED
from readapi.subsonic.rendering import Form, render_answer
from schemas.errors import Code

GENERIC: Final = 0
MISSING: Final = 10
NO_TOKENS: Final = 41
NO_PASSWORDS: Final = 42
CONFLICTING: Final = 43
INVALID_KEY: Final = 44
NOT_AUTHORIZED: Final = 50
NOT_FOUND: Final = 70

# Otherwise 200, as the protocol has it: many players show no reason beside another status.
_TOLD_BY_STATUS = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_NUMBERS: Mapping[str, int] = {
    Code.NOT_AUTHENTICATED: INVALID_KEY,
    Code.SESSION_EXPIRED: INVALID_KEY,
    Code.SCOPE_UPGRADE_REQUIRED: NOT_AUTHORIZED,
    Code.NOT_OWNER: NOT_AUTHORIZED,
    Code.SUPPORT_REQUIRED: NOT_AUTHORIZED,
    Code.SPACE_REFUSED: NOT_AUTHORIZED,
    Code.NOT_FOUND: NOT_FOUND,
}


class Failed(Exception):
    """A refusal of OpenSubsonic's own. `needs_key`: the user has to make an API key."""

    def __init__(self, number: int, message: str, *, needs_key: bool = False) -> None:
        self.number = number
        self.message = message
        self.needs_key = needs_key
        super().__init__(message)


def render_failure(form: Form, failed: Failed, help_url: str) -> Answer[Any]:
    """A refusal; with the address of the page where API keys are made, if one is needed."""
    told = {
        "code": failed.number,
        "message": failed.message,
        "helpUrl": help_url if failed.needs_key else None,
    }
    return render_answer(form, {"error": told}, "failed")


def convert_failure(form: Form, refused: Answer[Any]) -> Answer[Any]:
    """A refusal of a method by the rest of the API."""
    answer = convert_refusal(form, refused)
    return answer if refused.status in _TOLD_BY_STATUS else answer._replace(status=HTTPStatus.OK, headers={})


def convert_refusal(form: Form, refused: Answer[Any]) -> Answer[Any]:
    """A refusal in the shape of the JSON API as this protocol has it, with the status and headers."""
    told = orjson.loads(refused.body)
    wrong = told.get("errors", ())
    named = "; ".join(f"{one['field']} {one['message']}" for one in wrong)
    number = _NUMBERS.get(told["detail"], GENERIC)
    if any(one["message"] == REQUIRED for one in wrong):
        number = MISSING
    answer = render_answer(
        form, {"error": {"code": number, "message": f"{named}." if named else told["message"]}}, "failed"
    )
    return answer._replace(status=refused.status, headers=refused.headers)
