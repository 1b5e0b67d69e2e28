"""What every answer's shape has in common, and the types that several of them use."""

from typing import Annotated, Literal, TypeVar

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, WithJsonSchema

T = TypeVar("T")

Time = Annotated[
    str,
    Field(
        pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$",
        description="RFC 3339 in UTC.",
        json_schema_extra={"format": "date-time"},
    ),
]
Count = Annotated[int, Field(ge=0)]
PublicId = Annotated[int, Field(ge=0, lt=2**53)]
Uuid = Annotated[
    str,
    Field(
        pattern=r"^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
        json_schema_extra={"format": "uuid"},
    ),
]


class Shape(BaseModel):
    """One object of an answer: frozen, and no field besides those that are written down."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Deleted(Shape):
    """What was to go is gone."""

    deleted: Literal[True]


class Message(Shape):
    """What was done, in a sentence."""

    message: str


class Asked(BaseModel):
    """What a request carries in its body. Members that are not written down are ignored."""

    model_config = ConfigDict(frozen=True)


class AskedWithFiles(Asked):
    """The same, where some members are files: it may be sent as a form with parts."""


File = Annotated[bytes, Strict(), WithJsonSchema({"type": "string", "format": "binary"})]


def _from_text(value: object) -> object:
    try:
        return orjson.loads(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError("must be JSON") from None


Listed = Annotated[list[T], BeforeValidator(_from_text)]  # a list; in a form, its JSON


class Page(Shape):
    """What every page of a list says about the rest of it."""

    next_cursor: str | None = Field(description="Pass as `cursor` to go on; null on the last page.")
    has_more: bool
