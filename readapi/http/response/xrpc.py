"""Refusals in the form of XRPC: `error` and `message`. https://atproto.com/specs/xrpc#error-responses"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson

from readapi.answers import Answer
from schemas.errors import Code

PREFIX = "/xrpc/"
UNKNOWN = Answer[Any](
    orjson.dumps({"error": "MethodNotImplemented", "message": "This service has no such method."}),
    status=HTTPStatus.NOT_IMPLEMENTED.value,
)

# Names that clients of XRPC know; the others are the codes in their spelling.
_NAMES: Mapping[str, str] = {
    Code.NOT_AUTHENTICATED: "AuthenticationRequired",
    Code.SESSION_EXPIRED: "ExpiredToken",
    Code.RATE_LIMITED: "RateLimitExceeded",
    Code.PDS_UNAVAILABLE: "UpstreamFailure",
    Code.INTERNAL: "InternalServerError",
}


def convert_refusal(refused: Answer[Any], *, known: bool) -> Answer[Any]:
    """A refusal of the JSON API as XRPC has it. `known`: the path is that of a method."""
    if refused.status == HTTPStatus.NOT_FOUND and not known:
        return UNKNOWN
    told = orjson.loads(refused.body)
    code, wrong = told["detail"], told.get("errors", ())
    message = (
        "; ".join(f"{one['field']} {one['message']}" for one in wrong) + "." if wrong else told["message"]
    )
    name = _NAMES.get(code) or "".join(map(str.capitalize, code.split("_")))
    invalid = refused.status == HTTPStatus.UNPROCESSABLE_ENTITY
    status = HTTPStatus.BAD_REQUEST.value if invalid else refused.status
    return refused._replace(body=orjson.dumps({"error": name, "message": message}), status=status)
