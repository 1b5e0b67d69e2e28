"""A request's body → the members of what a handler asks for: JSON, a form, or a form with files."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

import orjson
from aiohttp import BodyPartReader, web

from readapi.answers import JSON
from readapi.errors import InvalidRequest, TooLarge, UnsupportedMediaType
from schemas.errors import FieldError

MOST_BYTES = 256 << 10
MOST_PARTS = 64
FORM: Final = "application/x-www-form-urlencoded"
PARTS: Final = "multipart/form-data"


async def read(request: web.Request, most_file_bytes: int = 0) -> Mapping[str, object]:
    """The members; none of no body at all. Forms with files are read where files of some length are wanted.

    Raises InvalidRequest, UnsupportedMediaType or TooLarge.
    """
    if request.content_type == PARTS and most_file_bytes:
        return checked(await _of_parts(request, most_file_bytes))
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


async def _of_parts(request: web.Request, most_file_bytes: int) -> Mapping[str, object]:
    """Files as bytes, everything else as text; all together no more than one file and the most of texts."""
    members: dict[str, object] = {}
    left = most_file_bytes + MOST_BYTES
    try:
        parts = await request.multipart()
        for _ in range(MOST_PARTS):
            part = await parts.next()
            if part is None:
                return members
            if not isinstance(part, BodyPartReader) or part.name is None:
                break
            is_file = part.filename is not None
            content = await _whole(part, min(left, most_file_bytes if is_file else MOST_BYTES))
            members[part.name] = content if is_file else content.decode(errors="replace")
            left -= len(content)
    except (ValueError, AssertionError, web.HTTPBadRequest):
        pass
    raise InvalidRequest("The form is not well-formed.")


async def _whole(part: BodyPartReader, most_bytes: int) -> bytes:
    content = bytearray()
    while chunk := await part.read_chunk():
        content += chunk
        if len(content) > most_bytes:
            raise TooLarge(f"{part.name} is larger than {most_bytes:,} bytes.")
    return bytes(content)
