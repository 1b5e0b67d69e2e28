"""What all shapes have in common."""

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator


class Shape(BaseModel):
    model_config = ConfigDict(extra="ignore")


class Listed(Shape):
    """A list of the API as the first member of an object."""

    @model_validator(mode="before")
    @classmethod
    def _name_list(cls, found: Any) -> Any:
        return {next(iter(cls.model_fields)): found} if isinstance(found, list) else found


class Page(Shape):
    """A page of a list. `next_cursor` leads to the next one; null at the end."""

    next_cursor: str | None = None
    has_more: bool = False
