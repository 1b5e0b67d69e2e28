"""Pages of a sorted list: every item exactly once, even if items are added between two pages.

A page begins after the position of the last one: a sort key, and an id among equal keys.
A page often shows only a part of what it reads. It reads MOST_ROWS at most, so that accounts with many
hidden records make pages short, or empty, and never expensive.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import Final, Generic, NamedTuple, TypeVar

from tantivy import DocAddress, FieldType, Order, Query

from readapi.index.folder import IndexFolder, match_all

T = TypeVar("T")

Spans = dict[
    object, tuple[int, int]
]  # per listing: the last key of a page, and how far the first was from it

SLACK = 8  # read beyond a page: room for equals of the last key
MOST_ROWS = 1000  # that one page examines, in search of visible ones
MOST_AT_ONCE = 500  # rows that one query gives
MANY = 4000  # matches from which on a window of the order is walked, instead of all of them
_TOP = 2**64 - 1
_BY_KEY = itemgetter(0, 1)


class Position(NamedTuple):
    """The position where a page ended."""

    key: int
    id: int


class Row(NamedTuple):
    """One document of a list."""

    key: int
    id: int
    address: DocAddress

    @property
    def position(self) -> Position:
        return Position(self.key, self.id)


# `Row._make`, without its own check of how many values there are.
_ROW_OF: Final[Callable[[tuple[int, int, DocAddress]], Row]] = partial(tuple.__new__, Row)


class Page(NamedTuple, Generic[T]):
    """A page of a list; `after` is the position where it ended, None on the last page."""

    items: list[T]
    after: Position | None


class Placed(NamedTuple, Generic[T]):
    """An examined item with its position; `item` is None when it may not be shown."""

    position: Position
    item: T | None


def sift_page(walk: Iterable[Placed[T]], limit: int) -> Page[T]:
    """The next `limit` visible items: fewer, or none, when MOST_ROWS were examined before."""
    found: list[Placed[T]] = []
    for looked_at, placed in enumerate(walk, 1):
        if placed.item is not None:
            if len(found) == limit:
                return _page(found, found[-1].position)
            found.append(placed)
        if looked_at == MOST_ROWS:
            return _page(found, placed.position)
    return _page(found, None)


def batch_sizes(first: int) -> Iterator[int]:
    """How many rows to read at a time: few at first, more when many are hidden."""
    size = first
    while True:
        yield min(size, MOST_AT_ONCE)
        size *= 4


def _page(found: Iterable[Placed[T]], after: Position | None) -> Page[T]:
    return Page([placed.item for placed in found if placed.item is not None], after)


class Listing:
    """The documents that match a query, in the order of a field: downwards, and upwards when `rising`.

    `spans` is where listings remember how far apart keys are; a listing with none walks all of its matches.
    """

    def __init__(
        self,
        folder: IndexFolder,
        query: Query,
        field: str,
        *,
        rising: bool = False,
        spans: Spans | None = None,
        name: object = None,
    ) -> None:
        self._folder, self._query, self._field = folder, query, field
        self._rising = rising
        self._spans, self._name = spans, name

    def page(self, after: Position | None, limit: int) -> Page[Row]:
        """The next `limit` rows."""
        rows = list(islice(self.walk(after, limit), limit + 1))
        return Page(rows[:limit], rows[limit - 1].position if len(rows) > limit else None)

    def walk(self, after: Position | None, first: int) -> Iterator[Row]:
        """Every row after a position; `first`: how many are wanted at least, most probably."""
        bound = None if after is None else after.key
        for size in batch_sizes(first + SLACK):
            rows = self._top(bound, size)
            last = rows[-1].key if len(rows) == size else None
            if last is None:
                yield from self._beyond(after, rows)
                return
            yield from self._beyond(after, [row for row in rows if row.key != last])
            # Equals of the last key may have been cut off.
            yield from self._equals(last, after.id if after and after.key == last else None, size)
            bound = last + 1 if self._rising else last - 1
            if not 0 <= bound <= _TOP:
                return

    def _beyond(self, after: Position | None, rows: list[Row]) -> list[Row]:
        ordered = sorted(rows, key=_BY_KEY, reverse=not self._rising)
        if after is None:
            return ordered
        if self._rising:
            return [row for row in ordered if row.position > after]
        return [row for row in ordered if row.position < after]

    def _top(self, bound: int | None, count: int) -> list[Row]:
        """The first rows from a key on."""
        if self._spans is not None and not self._rising:
            near = self._window(bound, count, self._spans)
            if near is not None:
                return near
        if bound is None:
            query = self._query
        else:
            query = self._within(bound, _TOP) if self._rising else self._within(0, bound)
        rows = self._rows(query, count)
        self._remember(bound, rows)
        return rows

    def _window(self, bound: int | None, count: int, spans: Spans) -> list[Row] | None:
        """The first rows, if they lie as close together as they did before."""
        known = spans.get((self._name, bound is None))
        if known is None:
            return None
        last, width = known
        for low in (last, last - 8 * width) if bound is None else (bound - 2 * width, bound - 16 * width):
            if low <= 0:
                return None
            keys = Query.range_query(
                self._folder.schema,
                self._field,
                FieldType.Unsigned,
                low,
                _TOP if bound is None else bound,
                use_inverted_index=True,
            )
            rows = self._rows(match_all(self._query, keys), count)
            if len(rows) == count:
                self._remember(bound, rows)
                return rows
        return None

    def _remember(self, bound: int | None, rows: list[Row]) -> None:
        if self._spans is not None and len(rows) > SLACK:
            if len(self._spans) > MANY:
                self._spans.clear()
            self._spans[self._name, bound is None] = rows[-1].key, rows[0].key - rows[-1].key + 1

    def _within(self, low: int, high: int) -> Query:
        return match_all(self._query, self._between(self._field, low, high))

    def _between(self, field: str, low: int, high: int) -> Query:
        return Query.range_query(self._folder.schema, field, FieldType.Unsigned, low, high)

    def _equals(self, key: int, after_id: int | None, size: int) -> Iterator[Row]:
        """The rows of one key, by id, from an id on; an account that tries hard can write many of them."""
        equals = match_all(self._query, self._folder.term(self._field, key))
        for most in batch_sizes(size):
            query = equals
            if after_id is not None:
                low, high = (after_id + 1, _TOP) if self._rising else (0, after_id - 1)
                if low > high:
                    return
                query = match_all(equals, self._between("id", low, high))
            rows = self._rows(query, most, "id")
            yield from rows
            if len(rows) < most:
                return
            after_id = rows[-1].id

    def _rows(self, query: Query, count: int, by: str | None = None) -> list[Row]:
        """The first rows by a field. Of those whose field is the same any may be cut off."""
        field = by or self._field
        order = Order.Asc if self._rising else Order.Desc
        found = self._folder.search(query, count, by=field, order=order).hits
        addresses = [address for _, address in found]
        if by is None:
            ids = self._folder.numbers("id", addresses)
            return list(map(_ROW_OF, zip([key for key, _ in found], ids, addresses, strict=True)))
        keys = self._folder.numbers(self._field, addresses)
        return list(map(_ROW_OF, zip(keys, [number for number, _ in found], addresses, strict=True)))
