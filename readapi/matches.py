"""What a search matches: all of it when it is little, and walked tier by tier when it is much.

Few matches are fetched in one pass, whose scores are their tiers, and sorted here: most searches are so.
Both ways give the same order, so a cursor may go on in either.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Literal, NamedTuple

from tantivy import DocAddress, Query

from readapi import tiers
from readapi.index_folder import IndexFolder, either, every, without
from readapi.paging import Listing, Position, Row
from readapi.tiers import Tiers
from schemas.search_index import KINDS, Kind, kind_of

Sort = Literal["relevance", "recent", "popular"]
FEW = 50  # matches without a typo, below which those with one join
AT_ONCE = 256


# What a Hit is made of; hundreds of them are sorted, of which a page shows a few.
Match = tuple[int, int, int, DocAddress]

_BY_TIER = itemgetter(0, 1, 2)
_BY_KEY = itemgetter(1, 2)


class Place(NamedTuple):
    """A place in the order of a search's matches of one kind."""

    tier: int
    position: Position


class Hit(NamedTuple):
    """One match: `tier` says how well. Better ones sort first."""

    tier: int
    minus_key: int
    minus_id: int
    address: DocAddress

    @property
    def place(self) -> Place:
        return Place(self.tier, Position(-self.minus_key, -self.minus_id))


class Matches:
    """The matches of one search, by kind. `with_typos` is given when an earlier page has settled it."""

    def __init__(
        self, folder: IndexFolder, found: Tiers, filters: Iterable[Query], sort: Sort, with_typos: bool | None
    ) -> None:
        self._folder, self._found, self._filters, self._sort = folder, found, list(filters), sort
        self._few: dict[Kind, list[Match]] = {}
        self.totals: dict[Kind, int] = {}
        many = not self._filters and found.are_many(AT_ONCE)
        strict = None if many else self._at_once(found.strict, KINDS)
        self.with_typos = strict is not None and len(strict) < FEW if with_typos is None else with_typos
        if self.with_typos and strict is not None:
            strict = _joined(strict, self._at_once(found.near, KINDS))
        self._settle(KINDS, strict)

    def after(self, kind: Kind, place: Place | None, limit: int) -> Iterator[Hit]:
        """The matches of a kind in order, from a place on; read by about `limit` at a time."""
        if kind in self._few:
            return self._few_after(kind, place)
        if self._sort == "relevance":
            return self._tier_by_tier(kind, place, limit)
        everything = self._matching(self._found.all_of(with_typos=self.with_typos), [kind])
        listing = Listing(self._folder, everything, self._sort)
        return (_hit(0, row) for row in listing.walk(place.position if place else None, limit))

    def best_tiers(self, kind: Kind, hits: Sequence[Hit]) -> Mapping[int, int]:
        """The best tier of each of these matches, by `minus_id`."""
        matches = self._few.get(kind)
        if matches is None:
            these = either(*(self._folder.term("id", -hit.minus_id) for hit in hits))
            matches = self._at_once(self._tiers(), [kind], these, most=len(hits))
        return {minus_id: tier for tier, _, minus_id, _ in matches or ()}

    def _tiers(self) -> dict[int, Query]:
        return self._found.strict | self._found.near if self.with_typos else self._found.strict

    def _settle(self, kinds: Sequence[Kind], matches: list[Match] | None) -> None:
        """Keep few matches by kind. Of many count one kind, and look whether the others' are few."""
        if matches is not None:
            self._few |= {kind: [] for kind in kinds}
            for match in sorted(matches, key=_BY_TIER if self._sort == "relevance" else _BY_KEY):
                self._few[kind_of(-match[2])].append(match)
            self.totals |= {kind: len(self._few[kind]) for kind in kinds}
        elif len(kinds) == 1:
            everything = self._found.all_of(with_typos=self.with_typos)
            self.totals[kinds[0]] = self._folder.count(self._matching(everything, kinds))
        else:
            self._settle(kinds[:1], None)
            self._settle(kinds[1:], self._at_once(self._tiers(), kinds[1:]))

    def _at_once(
        self, found: Mapping[int, Query], kinds: Sequence[Kind], *filters: Query, most: int = AT_ONCE - 1
    ) -> list[Match] | None:
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
            (tiers.COUNT - round(score), -key, -number, address)
            for (score, address), key, number in zip(hits, keys, ids, strict=True)
        ]

    def _few_after(self, kind: Kind, place: Place | None) -> Iterator[Hit]:
        matches = map(Hit._make, self._few[kind])
        if place is None:
            return matches
        rank = _BY_TIER if self._sort == "relevance" else _BY_KEY
        start = rank((place.tier, -place.position.key, -place.position.id))
        return (hit for hit in matches if rank(hit) > start)

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
                    yield _hit(tier, row)
            if position is not None:
                # What came before the place in this tier was not seen here.
                better.append(query)

    def _matching(self, query: Query, kinds: Sequence[Kind], *filters: Query) -> Query:
        """The query among some kinds; nothing that it is filtered by adds to scores."""
        conditions = [*self._filters, *filters]
        if len(kinds) < len(KINDS):
            conditions.append(either(*(self._folder.term("kind", kind) for kind in kinds)))
        return every(query, *(Query.const_score_query(condition, 0.0) for condition in conditions))


def _hit(tier: int, row: Row) -> Hit:
    return Hit(tier, -row.key, -row.id, row.address)


def _joined(matches: list[Match], others: list[Match] | None) -> list[Match] | None:
    """The matches, and those others that are not among them."""
    if others is None:
        return None
    known = {match[2] for match in matches}
    return matches + [match for match in others if match[2] not in known]
