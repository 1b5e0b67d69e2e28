"""Projection: how the catalogue stores one record type. All general code is driven by this value."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeVar
from urllib.parse import urlsplit

from indexer.repo.changes import RecordChange
from schemas.fields import Shape
from schemas.ids import AtUri, Did

R = TypeVar("R", bound=Shape)
Row = Mapping[str, Any]
Children = Mapping[str, list[Row]]


def _no_children(record: Shape, uri: AtUri) -> Children:
    return {}


def _no_documents(applied: "Applied", documents: "Documents") -> None:
    pass


@dataclass(frozen=True, slots=True)
class Projection(Generic[R]):
    """How records of one type become rows, and what follows from a change of them.

    `columns` gives the table's columns after `state`, except `id`, which only the writer can know.
    `children` gives the rows of each of the `child_tables`, all of them, empty ones too.
    `mark_stale` marks the search documents that show what changed; of a version that is replaced it finds
    the columns `key`, `uri`, `did`, `rev`, `state` and those that are `remembered`.
    `own_document` is the kind of search document that each record has, and the column that names it, where
    the document shows nothing but the record and therefore comes and goes with its account.
    `counted` is the number in `track_counts` that the records move.
    """

    name: str
    table: str
    model: type[R]
    columns: Callable[[R, AtUri], Row]
    children: Callable[[R, AtUri], Children] = _no_children
    child_tables: tuple[str, ...] = ()
    has_id: bool = False
    remembered: tuple[str, ...] = ()
    mark_stale: Callable[["Applied", "Documents"], None] = _no_documents
    own_document: tuple[str, str] | None = None
    counted: Literal["likes", "comments"] | None = None

    @property
    def child_key(self) -> str:
        """The column by which a child row names its parent."""
        return f"{self.name}_key"

    @property
    def strays(self) -> str:
        """The SQL condition of child rows without a record that has content; a sound catalogue has none."""
        having = f"select key from {self.table} where state in ('live', 'withheld', 'takendown')"
        return f"{self.child_key} not in ({having})"


@dataclass(frozen=True, slots=True)
class Applied:
    """What changed in one table: rows by key before and after, their children, and uris that clash.

    `changes`: the changes that made the rows, by key; none where the operator hides or shows a record.
    """

    projection: Projection[Any]
    before: Mapping[int, Row]
    after: Mapping[int, Row]
    children_before: Mapping[str, Sequence[Row]]
    children_after: Mapping[str, Sequence[Row]]
    moved: Sequence[int] = ()
    clashes: Sequence[RecordChange] = ()
    changes: Mapping[int, RecordChange] = field(default_factory=dict)

    def versions(self) -> Iterator[Row]:
        """Every row that is or was live or withheld: what has, or had, a search document."""
        for row in (*self.before.values(), *self.after.values()):
            if row["state"] in ("live", "withheld"):
                yield row

    def children(self, table: str) -> Iterator[Row]:
        """Every child row that is or was there."""
        yield from self.children_before.get(table, ())
        yield from self.children_after.get(table, ())


class Documents(Protocol):
    """Where `mark_stale` marks search documents: the outbox."""

    def keyed(self, kind: str, numbers: Iterable[int]) -> None:
        """Mark documents that are known by a number."""

    def named(self, kind: str, names: Iterable[str]) -> None:
        """Mark documents that are known by a name."""

    def renamed(self, dids: Collection[Did]) -> None:
        """Mark everything that shows an account's name, picture or server."""

    def written(self, applied: Applied) -> list[Row]:
        """Mark the artists' documents, and return every version that is or was live."""

    def reacted(self, applied: Applied) -> None:
        """Mark the documents of people who have their first reaction, or may have had their last."""

    def lists_with(self, tracks: Collection[int]) -> None:
        """Mark the lists that hold these tracks."""

    def albums_of(self, artists: Collection[Did]) -> None:
        """Mark all albums of these artists."""

    def album_tracks_of(self, artists: Collection[Did]) -> None:
        """Mark all tracks on albums of these artists."""


def web_address(url: str | None) -> str | None:
    """The URL if it is http or https with a host, so that a browser may be sent there; else None."""
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return None
    return url if usable else None
