"""Walks many matches by popularity: those that are popular at all first, without a look at the others."""

from collections.abc import Iterator
from typing import Final

from tantivy import Query

from readapi.index.folder import IndexFolder, ignore_score, match_all
from readapi.index.paging import MANY, Listing, Position, Row
from schemas.search_index import COUNT_SHIFT

_PAGES: Final = 4  # of matches that are expected among popular documents, so that one mostly is
_POWERS: Final = 31  # of two, of which a count has one


def walk_popular(
    folder: IndexFolder, query: Query, total: int, position: Position | None, limit: int
) -> Iterator[Row]:
    """The matches of a query from a position on, read by about `limit` at a time.

    `total`: how many matches there are about, of which those of the query are a part.
    """
    hot = _hot(folder, total, position, limit)
    if hot is not None:
        for row in Listing(folder, match_all(query, hot), "popular").walk(position, limit):
            position = row.position
            yield row
    yield from Listing(folder, query, "popular").walk(position, limit)


def _hot(folder: IndexFolder, total: int, position: Position | None, limit: int) -> Query | None:
    """Documents so popular that about a page of the matches is. None: there are too few, or few matches."""
    documents = folder.searcher.num_docs if folder.searcher else 0
    if total < MANY or not documents:
        return None
    wanted = _PAGES * limit * documents / total
    powers = range(_POWERS) if position is None else range((position.key >> COUNT_SHIFT).bit_length())
    before = 0 if position is None else _count_hot(folder, len(powers))
    for power in reversed(powers):
        if _count_hot(folder, power) - before >= wanted:
            return ignore_score(folder.term("heat", str(power)))
    return None


def _count_hot(folder: IndexFolder, power: int) -> int:
    return folder.estimate_term("heat", str(power))
