"""What somebody has: their own tracks, and those that they like."""

import heapq
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from tantivy import Query

from readapi.index_folder import either, every
from readapi.paging import Listing, Page, Position
from readapi.queries import tracks
from readapi.search import MOST_LIKED, Index, Sort
from schemas.access import Viewer
from schemas.search_index import kind_id, popular_key, recent_key
from schemas.search_text import fold
from schemas.stored import Card

_CHUNK = 100
_POSITION = attrgetter("position")


class Shelf(NamedTuple):
    """A page of tracks, and how many there are on all pages."""

    page: Page[Card]
    total: int


class _Placed(NamedTuple):
    position: Position
    card: Card


_Walk = Callable[[Position | None], Iterator[_Placed]]  # everything after a position, in order


def own(
    index: Index,
    viewer: Viewer,
    words: str,
    sort: Sort,
    after: Position | None,
    limit: int,
    besides: Sequence[Card] = (),
) -> Shelf:
    """The viewer's own tracks, private ones too, with all of these words in what is told of them.

    `besides`: those that the index does not know, because they are in a Space.
    """
    index.require()
    query = every(index.catalog.term("did", viewer.did), index.catalog.term("kind", "track"))
    walk = _merged(_catalogued(index, query, sort), [_placed(card, sort) for card in besides])
    return _shelf(walk, index.catalog.count(query) + len(besides), words, after, limit)


def liked(index: Index, viewer: Viewer, words: str, sort: Sort, after: Position | None, limit: int) -> Shelf:
    """The tracks that the viewer likes and may see: the last liked first, or the most popular."""
    index.require()
    likes = every(index.social.term("did", viewer.did), index.social.term("kind", "like"))
    keys = set(index.social.numbers("subject", index.addresses(likes, MOST_LIKED, index.social)))
    if not keys:
        return Shelf(Page([], None), 0)
    seen = either(index.catalog.term("place", "track@direct"), index.catalog.term("did", viewer.did))
    query = every(index.catalog.any_term("key", list(keys)), seen)
    walk = _by_like(index, likes, viewer) if sort == "recent" else _catalogued(index, query, sort)
    return _shelf(walk, index.catalog.count(query), words, after, limit)


def _shelf(walk: _Walk, total: int, words: str, after: Position | None, limit: int) -> Shelf:
    wanted = fold(words).split()
    found = list(islice(_matching(walk(after), wanted), limit + 1))
    following = found[limit - 1].position if len(found) > limit else None
    if wanted:
        total = sum(1 for _ in _matching(walk(None), wanted))
    return Shelf(Page([placed.card for placed in found[:limit]], following), total)


def _matching(walk: Iterator[_Placed], wanted: list[str]) -> Iterator[_Placed]:
    return (placed for placed in walk if not wanted or _tells(placed.card, wanted))


def _tells(card: Card, wanted: list[str]) -> bool:
    known = tracks.told(card)
    album = known["album"]["title"] if known["album"] else ""
    text = fold(
        " ".join([known["title"], known["artist"], album, known["description"] or "", *known["tags"]])
    )
    return all(word in text for word in wanted)


def _catalogued(index: Index, query: Query, sort: Sort) -> _Walk:
    def walk(after: Position | None) -> Iterator[_Placed]:
        rows = Listing(index.catalog, query, sort).walk(after, _CHUNK)
        while chunk := list(islice(rows, _CHUNK)):
            for row, card in zip(chunk, index.unpack(chunk), strict=True):
                yield _Placed(row.position, card)

    return walk


def _merged(walk: _Walk, besides: list[_Placed]) -> _Walk:
    """Both in one order."""
    in_order = sorted(besides, key=_POSITION, reverse=True)

    def both(after: Position | None) -> Iterator[_Placed]:
        rest = (placed for placed in in_order if after is None or placed.position < after)
        return heapq.merge(walk(after), rest, key=_POSITION, reverse=True)

    return both


def _placed(card: Card, sort: Sort) -> _Placed:
    """A track where it would stand in the index."""
    known = tracks.told(card)
    milliseconds = int(datetime.fromisoformat(known["created_at"]).timestamp() * 1000)
    key = recent_key(milliseconds, known["id"]) if sort == "recent" else popular_key(0, known["id"])
    return _Placed(Position(key, kind_id("track", known["id"])), card)


def _by_like(index: Index, likes: Query, viewer: Viewer) -> _Walk:
    def walk(after: Position | None) -> Iterator[_Placed]:
        rows = Listing(index.social, likes, "recent").walk(after, _CHUNK)
        while chunk := list(islice(rows, _CHUNK)):
            keys = index.social.numbers("subject", [row.address for row in chunk])
            cards = {card.key: card for card in tracks.seen(index.tracks(keys), viewer, "direct")}
            for row, key in zip(chunk, keys, strict=True):
                if key in cards:
                    yield _Placed(row.position, cards[key])

    return walk
