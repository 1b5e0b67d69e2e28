"""What a handler hands back when it has the bytes already: nothing is parsed only to be written again."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

import orjson
from pydantic import BaseModel

JSON = "application/json"
HTML = "text/html; charset=utf-8"
XML = "text/xml; charset=utf-8"
CAR = "application/vnd.ipld.car"

Shape = TypeVar("Shape")


class Answer(NamedTuple, Generic[Shape]):
    """Bytes ready to send. `Shape` is what they hold, and what the API's description says of them.

    `headers` win over those that every answer carries. `tag` is a shorter text that changes whenever the body
    does, if there is one: ETags are made of it.
    """

    body: bytes
    media_type: str = JSON
    status: int = 200
    headers: Mapping[str, str] = MappingProxyType({})
    tag: bytes = b""


def render(value: object) -> bytes:
    """The JSON of a shape, or of a list of shapes."""
    return orjson.dumps(value, default=_dump, option=orjson.OPT_UTC_Z)


def _dump(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True)
    raise TypeError(f"{type(value).__name__} is no part of an answer")
