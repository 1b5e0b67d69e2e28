"""A search's matches: fetched at once when few, and walked tier by tier when many.

Few matches are fetched at once and sorted here: most searches are like this. Both ways give the same order,
so a cursor may go on in either.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final, Literal, NamedTuple

from tantivy import DocAddress, Query

from readapi.index.folder import IndexFolder, exclude_query, ignore_score, match_all, match_any
from readapi.index.paging import Listing, Position, Row
from readapi.index.search import tiers
from readapi.index.search.relaxed import relaxed_query
from readapi.index.search.tiers import Tiers
from readapi.index.search.weights import relaxed_step
from schemas import search_index
from schemas.search_index import KINDS, Kind, kind_of

Sort = Literal["relevance", "recent", "popular"]
FEW = 50  # matches without a typo, below which those with one join
PAGE = 20  # matches with those, below which the relaxed tier joins
MOST_RELAXED = 100  # matches of that tier, the best ones
AT_ONCE = 256

# What a Hit is made of; hundreds of them are sorted, of which a page shows a few.
Match = tuple[int, int, int, DocAddress]

_BY_TIER = itemgetter(0, 1, 2)
_BY_KEY = itemgetter(1, 2)
_OTHERS = KINDS[1:]
_SAME_SCORE = 1e-4  # sums of the same weights differ by less


class Place(NamedTuple):
    """A position in the order of a search's matches of one kind."""

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


class _Found(NamedTuple):
    """How many matches there are, and all of them where that is not much."""

    total: int
    matches: list[Match] | None


# How far a search went, as its first page settles it.
Reach = Literal[0, 1, 2]
STRICTLY: Final[Reach] = 0
WITH_TYPOS: Final[Reach] = 1
RELAXED: Final[Reach] = 2


class Matches:
    """The matches of one search, by kind. `reach` is given when an earlier page has settled it."""

    def __init__(
        self,
        folder: IndexFolder,
        wanted: Tiers,
        filters: Iterable[Query],
        sort: Sort,
        reach: Reach | None,
    ) -> None:
        self._folder, self.wanted, self._sort = folder, wanted, sort
        self._filters = [ignore_score(query) for query in filters]
        self._few: dict[Kind, list[Match]] = {}
        self.totals: dict[Kind, int] = {}
        self.reach = reach or STRICTLY
        found = self._settled() if reach is None else self._found(KINDS, self._tiers)
        if self.reach == RELAXED and found.matches is not None:
            found = self._with_relaxed(found.matches)
        if self._keep(KINDS, found):
            return
        if not self._keep(_OTHERS, self._found(_OTHERS, self._tiers)):
            everything = self._everything()
            for kind in _OTHERS:
                self.totals[kind] = self._folder.count(self._matching(everything, [kind]))
        self.totals["track"] = found.total - sum(self.totals.values())

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
        if not hits:
            return {}
        if kind in self._few:
            return {minus_id: tier for tier, _, minus_id, _ in self._few[kind]}
        these = match_any(*(self._folder.term("id", -hit.minus_id) for hit in hits))
        query = match_all(self.wanted.scored(self._tiers), ignore_score(these))
        found = self._best(query, [kind], len(hits))
        return {minus_id: tier for tier, _, minus_id, _ in found.matches or ()}

    @property
    def _tiers(self) -> range:
        return tiers.ALL if self.reach else tiers.STRICT

    def _everything(self) -> Query:
        return match_any(self.wanted.strict, self.wanted.near) if self.reach else self.wanted.strict

    def _settled(self) -> _Found:
        """What a first page finds of all kinds. Where that is little, matches with a typo join."""
        if not self._filters and self.wanted.is_broad(AT_ONCE):
            # To count them costs less than to rate them.
            total = self._folder.count(self._matching(self.wanted.strict, KINDS))
            if total > AT_ONCE:
                return _Found(total, None)
        found = self._found(KINDS, tiers.ALL)
        if found.matches is None:
            strict = self._found(KINDS, tiers.STRICT)
        else:
            matches = [match for match in found.matches if match[0] in tiers.STRICT]
            strict = _Found(len(matches), matches)
        if strict.total >= FEW:
            return strict
        self.reach = RELAXED if found.total < PAGE else WITH_TYPOS
        return found

    def _with_relaxed(self, better: list[Match]) -> _Found:
        """These matches, and those of the relaxed tier that are not among them."""
        is_found = any(tier in tiers.STRICT for tier, *_ in better)
        relaxed = relaxed_query(self._folder, self.wanted, forgiving=not is_found)
        if relaxed is None:
            return _Found(len(better), better)
        hits, total = self._folder.search(self._matching(relaxed.query, KINDS), MOST_RELAXED, count=True)
        if total > len(hits):
            # Which of equally good matches are the last ones depends on how the index was written.
            hits = [hit for hit in hits if hit[0] > hits[-1][0] + _SAME_SCORE] or hits
        addresses = [address for _, address in hits]
        keys = self._folder.numbers("recent" if self._sort == "recent" else "popular", addresses)
        ids = self._folder.numbers("id", addresses)
        seen = {minus_id for _, _, minus_id, _ in better}
        matches = [*better]
        lengths = self._folder.numbers("length", addresses)
        for (score, address), key, number, length in zip(hits, keys, ids, lengths, strict=True):
            step = relaxed_step(score / relaxed.weight, length == relaxed.length)
            if step is not None and -number not in seen:
                matches.append((tiers.COUNT + step, -key, -number, address))
        return _Found(len(matches), matches)

    def _keep(self, kinds: Sequence[Kind], found: _Found) -> bool:
        """Keep all matches of these kinds, if they are few."""
        if found.matches is None:
            return False
        self._few |= {kind: [] for kind in kinds}
        for match in sorted(found.matches, key=_BY_TIER if self._sort == "relevance" else _BY_KEY):
            self._few[kind_of(-match[2])].append(match)
        self.totals |= {kind: len(self._few[kind]) for kind in kinds}
        return True

    def _found(self, kinds: Sequence[Kind], wanted: range) -> _Found:
        """What these tiers find."""
        return self._best(self.wanted.scored(wanted), kinds)

    def _best(self, query: Query, kinds: Sequence[Kind], most: int = AT_ONCE) -> _Found:
        """What a query finds whose scores tell tiers, each match in its best one."""
        hits, total = self._folder.search(self._matching(query, kinds), most, count=True)
        if total > most:
            return _Found(total, None)
        addresses = [address for _, address in hits]
        keys = self._folder.numbers("recent" if self._sort == "recent" else "popular", addresses)
        ids = self._folder.numbers("id", addresses)
        return _Found(
            total,
            [
                (tiers.BEST[score], -key, -number, address)
                for (score, address), key, number in zip(hits, keys, ids, strict=True)
            ],
        )

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
        for tier in self._tiers:
            query = self.wanted.query(tier)
            if place is not None and tier < place.tier:
                better.append(query)
                continue
            position = place.position if place and tier == place.tier else None
            listing = Listing(self._folder, self._matching(exclude_query(query, *better), [kind]), "popular")
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
            query = exclude_query(query, self._folder.term("kind", search_index.OTHER))
        elif len(kinds) < len(KINDS):
            kind = kinds[0] if len(kinds) == 1 else search_index.OTHER
            query = match_all(query, ignore_score(self._folder.term("kind", kind)))
        return match_all(query, *self._filters)


def _hit(tier: int, row: Row) -> Hit:
    return Hit(tier, -row.key, -row.id, row.address)
