"""What all answers have in common, and types that several of them use."""

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
    """An object in an answer: frozen, without undeclared fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Deleted(Shape):
    """The resource is deleted."""

    deleted: Literal[True]


class Message(Shape):
    """The result of an action, in a sentence."""

    message: str


class Asked(BaseModel):
    """An object in a request body. Undeclared members are ignored.

    In a form, texts are converted to numbers and booleans; JSON numbers and booleans are not converted.
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
    """The types that a field accepts itself: `int` of `int | None`, but not the `int` of `list[int]`."""
    if isinstance(annotation, UnionType) or get_origin(annotation) in (Annotated, Union):
        return frozenset().union(*(_kinds(part) for part in get_args(annotation)))
    return frozenset([annotation])


@dataclass(frozen=True, slots=True)
class Received:
    """A received file: its path for the duration of the request, its size, and its SHA-256 in hex.

    `end` releases its disk space. `file_name`: as the client calls it, without folders; any text.
    """

    path: Path
    bytes: int
    sha256: str
    end: Callable[[], None] = field(default=lambda: None, compare=False, repr=False)
    file_name: str = field(default="", compare=False)


class AskedInParts(Asked):
    """A request body that may also be sent as multipart/form-data, so that members may be files."""


class AskedWithFile(AskedInParts):
    """A request body with a required file: only multipart/form-data can carry it."""


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
    """The members that every page of a list has."""

    next_cursor: Annotated[str, Field(json_schema_extra={"format": "cursor"})] | None = Field(
        description="Pass as `cursor` for the next page; null on the last page only. A page may have fewer "
        "than `limit`, or nothing, and still have a next page: a request reads a bounded number of records, "
        "some of which may be hidden."
    )
    has_more: bool
