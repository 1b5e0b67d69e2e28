"""A viewer's library: their own tracks, and those that they like."""

import heapq
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from tantivy import Query

from readapi.index.folder import match_all
from readapi.index.lookups import Index, Sort
from readapi.index.paging import MOST_ROWS, Listing, Page, Placed, Position, batch_sizes, sift_page
from readapi.index.queries import tracks
from schemas.access import Viewer
from schemas.search_index import kind_id, popular_key, recent_key
from schemas.search_text import fold_text
from schemas.stored import Card

_POSITION = attrgetter("position")


class LibraryPage(NamedTuple):
    """A page of tracks, and how many there are on all pages."""

    page: Page[Card]
    total: int


# Everything after a position, in order: of those that may not be shown only where they stand.
_Walk = Callable[[Position | None], Iterator[Placed[Card]]]


def own_tracks(
    index: Index,
    viewer: Viewer,
    words: str,
    sort: Sort,
    after: Position | None,
    limit: int,
    besides: Sequence[Card] = (),
) -> LibraryPage:
    """The viewer's own tracks, private ones too, with all of these words in their metadata.

    `besides`: tracks that are not in the index, because they are in a Space.
    """
    index.require()
    query = match_all(index.catalog.term("did", viewer.did), index.catalog.term("kind", "track"))
    walk = _merge_walk(_walk_index(index, query, sort, limit), [_place_track(card, sort) for card in besides])
    return _make_page(walk, index.catalog.count(query) + len(besides), words, after, limit)


def liked_tracks(
    index: Index, viewer: Viewer, words: str, sort: Sort, after: Position | None, limit: int
) -> LibraryPage:
    """Tracks that the viewer likes and may see: the last liked first, or the most popular."""
    index.require()
    shown = index.visible("track", "direct", viewer)
    liked = index.liked_by(viewer.did, shown)
    total = index.catalog.count(liked)
    if sort == "popular":
        return _make_page(_walk_index(index, liked, sort, limit), total, words, after, limit)
    return _make_page(
        lambda after: index.liked_walk(viewer.did, after, limit, shown), total, words, after, limit
    )


def _make_page(walk: _Walk, total: int, words: str, after: Position | None, limit: int) -> LibraryPage:
    wanted = fold_text(words).split()
    if not wanted:
        return LibraryPage(sift_page(walk(after), limit), total)
    counted = _filter_by_words(islice(walk(None), MOST_ROWS), wanted)
    return LibraryPage(
        sift_page(_filter_by_words(walk(after), wanted), limit), sum(1 for placed in counted if placed.item)
    )


def _filter_by_words(walk: Iterator[Placed[Card]], wanted: list[str]) -> Iterator[Placed[Card]]:
    """The same walk; tracks without all of these words become hidden."""
    for position, card in walk:
        yield Placed(position, card if card is not None and _holds_words(card, wanted) else None)


def _holds_words(card: Card, wanted: list[str]) -> bool:
    known = tracks.parse_card(card)
    album = known["album"]["title"] if known["album"] else ""
    text = fold_text(
        " ".join([known["title"], known["artist"], album, known["description"] or "", *known["tags"]])
    )
    return all(word in text for word in wanted)


def _walk_index(index: Index, query: Query, sort: Sort, first: int) -> _Walk:
    def walk(after: Position | None) -> Iterator[Placed[Card]]:
        rows = Listing(index.catalog, query, sort).walk(after, first)
        for size in batch_sizes(first + 1):
            chunk = list(islice(rows, size))
            if not chunk:
                return
            for row, card in zip(chunk, index.cards(chunk), strict=True):
                yield Placed(row.position, card)

    return walk


def _merge_walk(walk: _Walk, besides: list[Placed[Card]]) -> _Walk:
    """Both merged in one order."""
    in_order = sorted(besides, key=_POSITION, reverse=True)

    def both(after: Position | None) -> Iterator[Placed[Card]]:
        rest = (placed for placed in in_order if after is None or placed.position < after)
        return heapq.merge(walk(after), rest, key=_POSITION, reverse=True)

    return both


def _place_track(card: Card, sort: Sort) -> Placed[Card]:
    """A track where it would stand in the index."""
    known = tracks.parse_card(card)
    milliseconds = int(datetime.fromisoformat(known["created_at"]).timestamp() * 1000)
    key = recent_key(milliseconds, known["id"]) if sort == "recent" else popular_key(0, known["id"])
    return Placed(Position(key, kind_id("track", known["id"])), card)
