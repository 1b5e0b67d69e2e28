"""The framework's own refusals, in our words."""

from http import HTTPStatus

from aiohttp import web

from readapi.answers import Answer
from readapi.errors import BadRequest, Internal, MethodNotAllowed, NotFound, TooLarge, refusal
from schemas.errors import Code, ErrorBody


def translate(error: web.HTTPException) -> Answer[ErrorBody]:
    """What the framework raised, in the one shape. Of its headers only `Allow` tells callers anything."""
    headers = {name: error.headers[name] for name in ("Allow",) if name in error.headers}
    for kind in (NotFound, MethodNotAllowed, TooLarge, BadRequest):
        if error.status == kind.status:
            return kind(headers=headers).answer()
    if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Internal().answer()
    return refusal(error.status, Code.INVALID_REQUEST, f"{error.reason}.", headers=headers)
