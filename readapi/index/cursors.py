"""Opaque cursors: the sort position where a page ended. Any other string is refused."""

import base64
import binascii
from typing import Annotated, Any

import orjson
from pydantic import Field

from readapi.errors import InvalidCursor
from readapi.index.paging import Position

Limit = Annotated[int, Field(ge=1, le=100, description="Most that one page holds.")]
Cursor = Annotated[
    str | None,
    Field(
        description="`next_cursor` of the page before; none for the first page.",
        json_schema_extra={"format": "cursor"},
    ),
]

_VERSION = 1
_MOST_CHARACTERS = 4096


def encode_cursor(order: str, *position: int | str) -> str:
    """A cursor for a position in one order of one list. Numbers are sort keys: 0 to 2^64 - 1."""
    return base64.urlsafe_b64encode(orjson.dumps([_VERSION, order, *position])).rstrip(b"=").decode()


def decode_cursor(cursor: str | None, order: str, *kinds: type[int] | type[str]) -> tuple[Any, ...] | None:
    """The position in a cursor of this order; None without a cursor. Raises InvalidCursor."""
    if cursor is None:
        return None
    position = _read_values(cursor, order)
    if len(position) != len(kinds):
        raise InvalidCursor
    for value, kind in zip(position, kinds, strict=True):
        if type(value) is not kind or (isinstance(value, int) and value < 0):
            raise InvalidCursor
    return tuple(position)


def read_position(cursor: str | None, order: str) -> Position | None:
    """The position after which a page begins; None for the first page. Raises InvalidCursor."""
    found = decode_cursor(cursor, order, int, int)
    return None if found is None else Position(*found)


def read_text(cursor: str | None, order: str) -> str | None:
    """The position in a list whose position is a text; None for the first page. Raises InvalidCursor."""
    found = decode_cursor(cursor, order, str)
    return None if found is None else str(found[0])


def write_cursor(after: Position | None, order: str) -> str | None:
    """The `next_cursor` of a page; None on the last one."""
    return None if after is None else encode_cursor(order, *after)


def _read_values(cursor: str, order: str) -> list[Any]:
    if len(cursor) > _MOST_CHARACTERS:
        raise InvalidCursor
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        written = orjson.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (UnicodeEncodeError, binascii.Error, orjson.JSONDecodeError):
        raise InvalidCursor from None
    if not isinstance(written, list) or written[:2] != [_VERSION, order]:
        raise InvalidCursor
    return written[2:]
