"""What a search matches: all of it when it is little, and walked tier by tier when it is much.

Few matches are fetched in one pass, whose scores are their tiers, and sorted here: most searches are so.
Both ways give the same order, so a cursor may go on in either.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from tantivy import Query

from readapi import tiers
from readapi.index_folder import IndexFolder, either, every, without
from readapi.paging import Listing, Position, Row
from readapi.tiers import Tiers
from schemas.search_index import KINDS, Kind

Sort = Literal["relevance", "recent", "popular"]
FEW = 50  # matches without a typo, below which those with one join
AT_ONCE = 256


class Place(NamedTuple):
    """A place in the order of a search's matches of one kind."""

    tier: int
    position: Position


class Hit(NamedTuple):
    """One match: `tier` says how well; `row.key` is what matches are sorted by within it."""

    tier: int
    row: Row


class Matches:
    """The matches of one search, by kind. `with_typos` is given when an earlier page has settled it."""

    def __init__(
        self, folder: IndexFolder, found: Tiers, filters: Iterable[Query], sort: Sort, with_typos: bool | None
    ) -> None:
        self._folder, self._found, self._filters, self._sort = folder, found, list(filters), sort
        self._few: dict[Kind, list[Hit]] = {}
        self.totals: dict[Kind, int] = {}
        strict = None if found.are_many(AT_ONCE) and not self._filters else self._at_once(found.strict, KINDS)
        self.with_typos = strict is not None and len(strict) < FEW if with_typos is None else with_typos
        if self.with_typos and strict is not None:
            strict = _joined(strict, self._at_once(found.near, KINDS))
        self._settle(KINDS, strict)

    def after(self, kind: Kind, place: Place | None, limit: int) -> Iterator[Hit]:
        """The matches of a kind in order, from a place on; read by about `limit` at a time."""
        if kind in self._few:
            start = None if place is None else self._rank(*place)
            hits = self._few[kind]
            return (hit for hit in hits if start is None or self._rank(hit.tier, hit.row.position) > start)
        if self._sort == "relevance":
            return self._tier_by_tier(kind, place, limit)
        everything = self._matching(self._found.all_of(with_typos=self.with_typos), [kind])
        listing = Listing(self._folder, everything, self._sort)
        return (Hit(0, row) for row in listing.walk(place.position if place else None, limit))

    def best_tiers(self, kind: Kind, rows: Sequence[Row]) -> Mapping[int, int]:
        """The best tier of each of these matches, by id."""
        if kind in self._few:
            return {hit.row.id: hit.tier for hit in self._few[kind]}
        these = either(*(self._folder.term("id", row.id) for row in rows))
        found = self._at_once(self._tiers(), [kind], these, most=len(rows))
        return {hit.row.id: hit.tier for hit in found or ()}

    def _tiers(self) -> dict[int, Query]:
        return self._found.strict | self._found.near if self.with_typos else self._found.strict

    def _settle(self, kinds: Sequence[Kind], matches: list[Hit] | None) -> None:
        """Keep few matches by kind. Of many count one kind, and look whether the others' are few."""
        if matches is not None:
            addresses = [hit.row.address for hit in matches]
            of_kind: dict[Kind, list[Hit]] = {kind: [] for kind in kinds}
            for number, hit in zip(self._folder.numbers("kind_number", addresses), matches, strict=True):
                of_kind[KINDS[number]].append(hit)
            for kind, hits in of_kind.items():
                self._few[kind] = sorted(hits, key=lambda hit: self._rank(hit.tier, hit.row.position))
                self.totals[kind] = len(hits)
        elif len(kinds) == 1:
            everything = self._found.all_of(with_typos=self.with_typos)
            self.totals[kinds[0]] = self._folder.count(self._matching(everything, kinds))
        else:
            self._settle(kinds[:1], None)
            self._settle(kinds[1:], self._at_once(self._tiers(), kinds[1:]))

    def _at_once(
        self, found: Mapping[int, Query], kinds: Sequence[Kind], *filters: Query, most: int = AT_ONCE - 1
    ) -> list[Hit] | None:
        """What these tiers match, in no order; None when that is too much for one pass."""
        if self._folder.searcher is None or not found:
            return []
        scored = [Query.const_score_query(query, tiers.COUNT - tier) for tier, query in found.items()]
        query = self._matching(Query.disjunction_max_query(scored), kinds, *filters)
        hits = self._folder.searcher.search(query, most + 1, count=False).hits
        if len(hits) > most:
            return None
        addresses = [address for _, address in hits]
        keys = self._folder.numbers("recent" if self._sort == "recent" else "popular", addresses)
        ids = self._folder.numbers("id", addresses)
        return [
            Hit(tiers.COUNT - round(score), Row(key, number, address))
            for (score, address), key, number in zip(hits, keys, ids, strict=True)
        ]

    def _tier_by_tier(self, kind: Kind, place: Place | None, limit: int) -> Iterator[Hit]:
        better: list[Query] = []
        seen: set[int] = set()
        for tier, query in self._tiers().items():
            if place is not None and tier < place.tier:
                better.append(query)
                continue
            position = place.position if place and tier == place.tier else None
            listing = Listing(self._folder, self._matching(without(query, *better), [kind]), "popular")
            for row in listing.walk(position, limit):
                if row.id not in seen:
                    seen.add(row.id)
                    yield Hit(tier, row)
            if position is not None:
                # What came before the place in this tier was not seen here.
                better.append(query)

    def _matching(self, query: Query, kinds: Sequence[Kind], *filters: Query) -> Query:
        """The query among some kinds; nothing that it is filtered by adds to scores."""
        conditions = [*self._filters, *filters]
        if len(kinds) < len(KINDS):
            conditions.append(either(*(self._folder.term("kind", kind) for kind in kinds)))
        return every(query, *(Query.const_score_query(condition, 0.0) for condition in conditions))

    def _rank(self, tier: int, position: Position) -> tuple[int, int, int]:
        """Sorts upwards: by tier first, unless something else was asked for."""
        return (tier if self._sort == "relevance" else 0, -position.key, -position.id)


def _joined(matches: list[Hit], others: list[Hit] | None) -> list[Hit] | None:
    """The matches, and those others that are not among them."""
    if others is None:
        return None
    known = {hit.row.id for hit in matches}
    return matches + [hit for hit in others if hit.row.id not in known]
