"""A request's body → the members of what a handler asks for: JSON, or a form."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

import orjson
from aiohttp import web

from readapi.answers import JSON
from readapi.errors import InvalidRequest, UnsupportedMediaType

MOST_BYTES = 256 << 10
FORM: Final = "application/x-www-form-urlencoded"


async def read(request: web.Request) -> Mapping[str, object]:
    """The members; none of no body at all. Raises InvalidRequest or UnsupportedMediaType."""
    text = await request.read()
    if not text:
        return {}
    if request.content_type == JSON:
        return _of_json(text)
    if request.content_type == FORM:
        return dict(parse_qsl(text.decode(errors="replace"), keep_blank_values=True))
    raise UnsupportedMediaType


def _of_json(text: bytes) -> Mapping[str, object]:
    try:
        members = orjson.loads(text)
    except ValueError:
        raise InvalidRequest("The body is not JSON.") from None
    if not isinstance(members, dict):
        raise InvalidRequest("The body is no JSON object.")
    return members
