"""What a record type is to the catalogue: one value, from which everything general follows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from schemas.fields import Shape
from schemas.ids import AtUri

R = TypeVar("R", bound=Shape)
Row = Mapping[str, Any]
Children = Mapping[str, list[Row]]


def _no_children(record: Shape, uri: AtUri) -> Children:
    return {}


@dataclass(frozen=True, slots=True)
class Projection(Generic[R]):
    """How records of one type become rows.

    `columns` gives the table's columns after `state`, except `id`, which only the writer can know.
    `children` gives the rows of each of the `child_tables`, all of them, empty ones too.
    """

    name: str
    table: str
    model: type[R]
    columns: Callable[[R, AtUri], Row]
    children: Callable[[R, AtUri], Children] = _no_children
    child_tables: tuple[str, ...] = ()
    has_id: bool = False

    @property
    def child_key(self) -> str:
        """The column by which a child row names its parent."""
        return f"{self.name}_key"

    @property
    def strays(self) -> str:
        """The condition that only those child rows meet which belong to no record: none, if all is well."""
        return f"{self.child_key} not in (select key from {self.table} where state = 'live')"


def utc(instant: datetime | None) -> datetime | None:
    """The instant as the catalogue keeps it: in UTC, without saying so."""
    if instant is None:
        return None
    there = instant if instant.tzinfo is UTC else instant.astimezone(UTC)
    # A quarter of the time that replacing the timezone takes.
    return datetime.combine(there.date(), there.time())


def web_address(url: str | None) -> str | None:
    """The address if a browser may be sent there: http or https with a host. Anything else is nothing."""
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return None
    return url if usable else None
