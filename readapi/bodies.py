"""A request's body → the members of what a handler asks for: JSON, or a form."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

import orjson
from aiohttp import web

from readapi.answers import JSON
from readapi.errors import InvalidRequest, UnsupportedMediaType
from schemas.errors import FieldError

MOST_BYTES = 256 << 10
FORM: Final = "application/x-www-form-urlencoded"


async def read(request: web.Request) -> Mapping[str, object]:
    """The members; none of no body at all. Raises InvalidRequest or UnsupportedMediaType."""
    text = await request.read()
    if not text:
        return {}
    if request.content_type == JSON:
        return checked(_of_json(text))
    if request.content_type == FORM:
        return checked(dict(parse_qsl(text.decode(errors="replace"), keep_blank_values=True)))
    raise UnsupportedMediaType


def check_address(request: web.Request) -> None:
    """Refuse NUL characters in the path or the query: see `checked`."""
    if "%00" in request.raw_path:
        raise InvalidRequest("The address has a NUL character in it.")


def checked(members: Mapping[str, object]) -> Mapping[str, object]:
    """The members, if they have no NUL characters in them: PostgreSQL keeps none, and no text needs any."""
    if wrong := [str(name).replace("\0", "") for name, value in members.items() if _has_nul([name, value])]:
        raise InvalidRequest(
            errors=[FieldError(field=name, message="It has a NUL character in it.") for name in wrong]
        )
    return members


def _has_nul(value: object) -> bool:
    left = [value]
    while left:  # no recursion: what strangers send may be nested more deeply than Python's calls
        one = left.pop()
        if isinstance(one, str) and "\0" in one:
            return True
        if isinstance(one, dict):
            left += (*one, *one.values())
        elif isinstance(one, list):
            left += one
    return False


def _of_json(text: bytes) -> Mapping[str, object]:
    try:
        members = orjson.loads(text)
    except ValueError:
        raise InvalidRequest("The body is not JSON.") from None
    if not isinstance(members, dict):
        raise InvalidRequest("The body is no JSON object.")
    return members
