"""What every answer's shape has in common, and the types that several of them use."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Annotated, Literal, TypeVar, Union, get_args, get_origin

import orjson
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    Strict,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)
from pydantic_core import PydanticKnownError

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
DidText = Annotated[str, Field(json_schema_extra={"format": "did"})]
UriText = Annotated[str, Field(json_schema_extra={"format": "at-uri"})]
Address = Annotated[str, Field(json_schema_extra={"format": "uri"})]


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
    """What a request carries in its body. Members that are not written down are ignored.

    A form's texts may stand for numbers and truths, but JSON's numbers are no truths, nor its truths numbers.
    """

    model_config = ConfigDict(frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _check_kind(cls, value: object, info: ValidationInfo) -> object:
        kinds = _kinds(cls.model_fields[str(info.field_name)].annotation)
        if isinstance(value, bool) and int in kinds:
            raise PydanticKnownError("int_type")
        if isinstance(value, int | float) and not isinstance(value, bool) and bool in kinds:
            raise PydanticKnownError("bool_type")
        return value


def _kinds(annotation: object) -> frozenset[object]:
    """The plain types that a field allows by itself: those of `int | None`, but not those of `list[int]`."""
    if isinstance(annotation, UnionType) or get_origin(annotation) in (Annotated, Union):
        return frozenset().union(*(_kinds(part) for part in get_args(annotation)))
    return frozenset([annotation])


@dataclass(frozen=True, slots=True)
class Received:
    """A file that was sent: where it is for as long as the request takes, its length, its SHA-256 in hex.

    `end` gives back the room that it takes.
    """

    path: Path
    bytes: int
    sha256: str
    end: Callable[[], None] = field(default=lambda: None, compare=False, repr=False)


class AskedInParts(Asked):
    """The same, which may also be sent as a form with parts: members may be files."""


class AskedWithFile(AskedInParts):
    """The same with a file that must be there: nothing but a form with parts carries it."""


# Never whole in memory.
LargeFile = Annotated[InstanceOf[Received], WithJsonSchema({"type": "string", "format": "binary"})]
File = Annotated[bytes, Strict(), WithJsonSchema({"type": "string", "format": "binary"})]


def _from_text(value: object) -> object:
    try:
        return orjson.loads(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError("must be JSON") from None


InForm = Annotated[T, BeforeValidator(_from_text)]  # in a form, its JSON
Listed = InForm[list[T]]


class Page(Shape):
    """What every page of a list says about the rest of it."""

    next_cursor: Annotated[str, Field(json_schema_extra={"format": "cursor"})] | None = Field(
        description="Pass as `cursor` to go on; null on the last page and on no other. A page may hold fewer "
        "than `limit`, or nothing, and yet have a next one: a request looks at a bounded number of records, "
        "of which some may not be shown."
    )
    has_more: bool
