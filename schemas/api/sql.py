"""SQL over the open data: a statement, what it gave, and the tables that it may read."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from schemas.api.exports import ExportTable
from schemas.api.shape import Asked, Count, Shape

MOST_CHARACTERS: Final = 10_000  # of a statement
SqlForm = Literal["json", "csv", "arrow", "parquet"]
SqlText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MOST_CHARACTERS,
        description="One SELECT over the tables of `/sql/schema`.",
    ),
]


class SqlStatement(Asked):
    """A statement, and the form of its answer. Arrow is the IPC stream."""

    query: SqlText
    format: SqlForm = "json"


class SqlColumn(Shape):
    """A column of an answer, and its type as Arrow names it."""

    name: str
    type: str


class SqlLimits(Shape):
    """What an answer may have, and how long a statement may take."""

    rows: Count
    bytes: Count
    seconds: float


class SqlAnswer(Shape):
    """The rows of a statement, each with a value for each column."""

    columns: list[SqlColumn]
    rows: list[list[Any]]
    truncated: bool = Field(description="There were more rows than an answer may have.")
    limits: SqlLimits


class SqlSchema(Shape):
    """The tables that a statement may read. Those are of the newest export."""

    tables: list[ExportTable]
    functions: list[str] = Field(description="The functions that a statement may call.")
    limits: SqlLimits
