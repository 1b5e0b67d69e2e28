"""Pages visit everything exactly once, whatever shares a key and whatever arrives between them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.search.folder import IndexFolder
from readapi.index.folder import IndexFolder as Reader
from readapi.index.paging import MOST_ROWS, Listing, Placed, Position, Row, sift_page
from schemas import search_index

# Few keys and many documents: equals are the rule here, and exceptions elsewhere.
ROWS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2**53 - 1)), max_size=60)


class Shelf:
    """An index that holds nothing but sort keys and ids."""

    def __init__(self, folder: Path) -> None:
        self._writer = IndexFolder.open(folder, search_index.catalog_schema())
        self.reader = Reader(folder, search_index.catalog_schema())
        self._spans: Any = {}

    def add(self, rows: list[tuple[int, int]]) -> None:
        """Rows of a sort key and an id; see them."""
        self._writer.add(
            {"doc": f"track:{key}-{number}", "kind": ["track"], "recent": key, "id": number}
            for key, number in rows
        )
        self._writer.commit(self._writer.watermark + 1)
        self.reader.refresh()

    def clear(self) -> None:
        """Start anew."""
        self._writer.writer.delete_all_documents()
        self._spans.clear()

    def listing(self, *, rising: bool = False, windows: bool = False) -> Listing:
        """Everything, by its sort key."""
        query = self.reader.term("kind", "track")
        spans = self._spans if windows else None
        return Listing(self.reader, query, "recent", rising=rising, spans=spans, name="all")

    def close(self) -> None:
        self._writer.close()


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    """One index for the whole module."""
    opened = Shelf(tmp_path_factory.mktemp("shelf"))
    yield opened
    opened.close()


def followed(listing: Listing, limit: int, after: Position | None = None) -> Iterator[list[Row]]:
    """Page after page."""
    while True:
        page = listing.page(after, limit)
        yield page.items
        if page.after is None:
            return
        after = page.after


def keys(rows: list[Row]) -> list[tuple[int, int]]:
    return [(row.key, row.id) for row in rows]


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(rows=ROWS, limit=st.integers(1, 12), rising=st.booleans(), windows=st.booleans())
def test_every_row_once_and_in_order(shelf, rows, limit, rising, windows):
    """Upwards and downwards, walked whole or by windows; a page that is not the last is full."""
    shelf.clear()
    rows = list(set(rows))
    shelf.add(rows[::2])
    shelf.add(rows[1::2])

    for _ in range(2 if windows else 1):
        pages = list(followed(shelf.listing(rising=rising, windows=windows), limit))

        assert [row for page in pages for row in keys(page)] == sorted(rows, reverse=not rising)
        assert all(len(page) == limit for page in pages[:-1])


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(rows=ROWS, arriving=ROWS, limit=st.integers(1, 12), windows=st.booleans())
def test_what_arrives_between_pages_moves_nothing(shelf, rows, arriving, limit, windows):
    """What was there is met once, and so is what arrives beyond the place that was reached."""
    shelf.clear()
    rows = list(set(rows))
    late = [row for row in set(arriving) if row not in rows]
    shelf.add(rows)

    pages = followed(shelf.listing(windows=windows), limit)
    met = keys(next(pages))
    beyond = [row for row in late if row < met[-1]] if len(rows) > limit else []
    shelf.add(late)
    met += [row for page in pages for row in keys(page)]

    assert met == sorted([*rows, *beyond], reverse=True)


def test_hundreds_of_equals_are_told_apart_by_id(shelf):
    """More than a page and its slack can hold."""
    shelf.clear()
    rows = [(5, number) for number in range(300)] + [(4, 1), (6, 1)]
    shelf.add(rows)

    pages = list(followed(shelf.listing(), 50))

    assert [row for page in pages for row in keys(page)] == sorted(rows, reverse=True)


def test_windows_find_their_way_through_gaps(shelf):
    """Dense and sparse stretches one after the other, on a first walk and on those that know the way."""
    shelf.clear()
    rows = [(2**60 + number, number) for number in range(200)]
    rows += [(2**50 + number * 2**44, number) for number in range(60)] + [(7, 7), (3, 3)]
    shelf.add(rows)

    for _ in range(3):
        pages = list(followed(shelf.listing(windows=True), 20))

        assert [row for page in pages for row in keys(page)] == sorted(rows, reverse=True)


@settings(max_examples=50)
@given(
    rows=st.integers(0, 4 * MOST_ROWS),
    shown=st.sets(st.integers(0, 4 * MOST_ROWS), max_size=30),
    limit=st.integers(1, 12),
)
def test_what_may_be_shown_is_met_once_however_much_may_not(rows, shown, limit):
    """A page looks at so many rows at most; one that is short or empty leads on from where it stopped."""
    everything = [
        Placed(Position(number, number), number if number in shown else None) for number in range(rows)
    ]
    met: list[int] = []
    after = Position(-1, 0)
    pages = 0
    while after is not None:
        looked_at: list[int] = []
        rest = (looked_at.append(placed.position.key) or placed for placed in everything[after.key + 1 :])
        page = sift_page(rest, limit)
        met += page.items
        after = page.after
        pages += 1

        assert len(page.items) <= limit
        assert len(looked_at) <= MOST_ROWS

    assert met == sorted(number for number in shown if number < rows)
    assert pages <= rows // MOST_ROWS + len(shown) // limit + 2


def test_many_equals_are_read_page_by_page(shelf):
    """A page of them costs a page."""
    shelf.clear()
    shelf.add([(5, number) for number in range(3000)])
    before = shelf.reader.rows_read

    page = shelf.listing().page(Position(5, 1500), 10)

    assert keys(page.items) == [(5, number) for number in range(1499, 1489, -1)]
    assert shelf.reader.rows_read - before < 100
