"""What every answer's shape has in common, and the types that several of them use."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

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


class Asked(BaseModel):
    """What a request carries in its body. Members that are not written down are ignored."""

    model_config = ConfigDict(frozen=True)


class Page(Shape):
    """What every page of a list says about the rest of it."""

    next_cursor: str | None = Field(description="Pass as `cursor` to go on; null on the last page.")
    has_more: bool
