"""What a search matches: all of it when it is little, and walked tier by tier when it is much.

Few matches are fetched at once and sorted here: most searches are like this. Both ways give the same order,
so a cursor may go on in either.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import itemgetter
from typing import Literal, NamedTuple

from tantivy import DocAddress, Query

from readapi import tiers
from readapi.index_folder import IndexFolder, either, every, without
from readapi.paging import Listing, Position, Row
from readapi.tiers import Tiers
from schemas import search_index
from schemas.search_index import KINDS, Kind, kind_of

Sort = Literal["relevance", "recent", "popular"]
FEW = 50  # matches without a typo, below which those with one join
AT_ONCE = 256

# What a Hit is made of; hundreds of them are sorted, of which a page shows a few.
Match = tuple[int, int, int, DocAddress]

# The tier and the address of what was found, by its popular key: as good as unique, and read with the rest.
Tiered = dict[int, tuple[int, DocAddress]]

_BY_TIER = itemgetter(0, 1, 2)
_BY_KEY = itemgetter(1, 2)
_TRACKS, _OTHERS = KINDS[:1], KINDS[1:]


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
        self,
        folder: IndexFolder,
        found: Tiers,
        filters: Iterable[Query],
        sort: Sort,
        shown: AbstractSet[Kind],
        with_typos: bool | None,
    ) -> None:
        self._folder, self._found, self._filters, self._sort = folder, found, list(filters), sort
        self._shown = shown
        self._few: dict[Kind, list[Match]] = {}
        self.totals: dict[Kind, int] = {}
        self.with_typos = bool(with_typos)
        self._strict_total = 0
        if self._keep(KINDS, is_first=with_typos is None):
            return
        strict_total = self._strict_total
        if not self._keep(_OTHERS):
            self._count(_OTHERS)
        if self.with_typos:
            self._count(_TRACKS)
        else:
            self.totals["track"] = strict_total - sum(self.totals.values())

    def after(self, kind: Kind, place: Place | None, limit: int) -> Iterator[Hit]:
        """The matches of a kind in order, from a place on; read by about `limit` at a time."""
        if kind in self._few:
            return self._few_after(kind, place)
        if self._sort == "relevance":
            return self._tier_by_tier(kind, place, limit)
        listing = Listing(self._folder, self._matching(self._everything(), [kind]), self._sort)
        return (_hit(0, row) for row in listing.walk(place.position if place else None, limit))

    def best_tiers(self, kind: Kind, hits: Sequence[Hit]) -> Mapping[int, int]:
        """The best tier of each of these matches, by `minus_id`."""
        if kind in self._few:
            return {minus_id: tier for tier, _, minus_id, _ in self._few[kind]}
        these = either(*(self._folder.term("id", -hit.minus_id) for hit in hits))
        best: dict[int, int] = {}
        for tier in reversed(self._tiers()):
            found, _ = self._most_popular(every(self._found.query(tier), these), [kind], len(hits))
            ids = self._folder.numbers("id", [address for _, address in found])
            best |= {-number: tier for number in ids}
        return best

    def _tiers(self) -> range:
        return range(tiers.COUNT) if self.with_typos else tiers.STRICT

    def _everything(self) -> Query:
        return either(self._found.strict, self._found.near) if self.with_typos else self._found.strict

    def _keep(self, kinds: Sequence[Kind], *, is_first: bool = False) -> bool:
        """Take all matches of these kinds, if they are few. A first page settles whether typos join."""
        found = self._strict(kinds)
        if found is not None and is_first:
            self.with_typos = len(found) < FEW
        if found is not None and self.with_typos:
            found = self._with_near(found, kinds)
        if found is None:
            return False
        self._few |= {kind: [] for kind in kinds}
        for match in sorted(self._matches(found), key=_BY_TIER if self._sort == "relevance" else _BY_KEY):
            self._few[kind_of(-match[2])].append(match)
        self.totals |= {kind: len(self._few[kind]) for kind in kinds}
        return True

    def _count(self, kinds: Sequence[Kind]) -> None:
        everything = self._everything()
        for kind in kinds:
            self.totals[kind] = self._folder.count(self._matching(everything, [kind]))

    def _strict(self, kinds: Sequence[Kind]) -> Tiered | None:
        """What is found without a typo, each in its best tier; None when that is much."""
        rows, self._strict_total = self._most_popular(self._found.strict, kinds)
        if self._strict_total > len(rows):
            return None
        last = tiers.STRICT[-1]
        found = {key: (last, address) for key, address in rows}
        left = len(found)
        # What is only counted needs no tiers.
        for tier in tiers.STRICT[:-1] if left and not self._shown.isdisjoint(kinds) else ():
            for key, address in self._most_popular(self._found.query(tier), kinds)[0]:
                if key in found and found[key][0] == last:
                    found[key] = (tier, address)
                    left -= 1
            if not left:
                break
        return found

    def _with_near(self, found: Tiered, kinds: Sequence[Kind]) -> Tiered | None:
        """What is found, and what joins it from the tiers with a typo; None when that is much."""
        for tier in tiers.NEAR:
            rows, total = self._most_popular(self._found.query(tier), kinds)
            if total > len(rows):
                return None
            found = {key: (tier, address) for key, address in rows} | found
        return found

    def _matches(self, found: Tiered) -> Iterator[Match]:
        addresses = [address for _, address in found.values()]
        keys = self._folder.numbers("recent", addresses) if self._sort == "recent" else found
        ids = self._folder.numbers("id", addresses)
        for (tier, address), key, number in zip(found.values(), keys, ids, strict=True):
            yield tier, -key, -number, address

    def _most_popular(
        self, query: Query, kinds: Sequence[Kind], limit: int = AT_ONCE
    ) -> tuple[list[tuple[int, DocAddress]], int]:
        """The most popular of what a query finds, with their keys; and how many it finds."""
        if self._folder.searcher is None:
            return [], 0
        found = self._folder.searcher.search(
            self._matching(query, kinds), limit, count=True, order_by_field="popular"
        )
        return found.hits, found.count  # type: ignore[attr-defined]  # the package's stub leaves it out

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
        for tier in self._tiers():
            query = self._found.query(tier)
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

    def _matching(self, query: Query, kinds: Sequence[Kind]) -> Query:
        """The query among some kinds, as far as the search was narrowed."""
        if [*kinds] == ["track"]:
            query = without(query, self._folder.term("kind", search_index.OTHER))
        elif len(kinds) == 1:
            query = every(query, self._folder.term("kind", kinds[0]))
        elif len(kinds) < len(KINDS):
            query = every(query, self._folder.term("kind", search_index.OTHER))
        return every(query, *self._filters)


def _hit(tier: int, row: Row) -> Hit:
    return Hit(tier, -row.key, -row.id, row.address)
