"""Answers of handlers as ready-made bytes: no JSON is parsed only to be written again."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

import orjson
from pydantic import BaseModel

EVENT_STREAM = "text/event-stream"

JSON = "application/json"
HTML = "text/html; charset=utf-8"
XML = "text/xml; charset=utf-8"
CAR = "application/vnd.ipld.car"

Shape = TypeVar("Shape")


class Answer(NamedTuple, Generic[Shape]):
    """A body ready to send. `Shape` is its type, for the OpenAPI description.

    `headers` override the constant ones. `tag`: shorter bytes that change whenever the body does, if any; the
    ETag is made of them.
    """

    body: bytes
    media_type: str = JSON
    status: int = 200
    headers: Mapping[str, str] = MappingProxyType({})
    tag: bytes = b""


def render_json(value: object) -> bytes:
    """Serialize a shape, or a list of shapes, as JSON."""
    return orjson.dumps(value, default=_dump, option=orjson.OPT_UTC_Z)


def _dump(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True)
    raise TypeError(f"{type(value).__name__} is no part of an answer")
