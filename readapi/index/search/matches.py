"""A search's matches: those of one query, whose scores tell the best tier and how popular a match is.

Few matches are all kept, sorted here. Of many only the best ones are, in the same order; what comes after
them, or after a cursor, is walked tier by tier.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from operator import itemgetter, neg
from typing import Final, Literal, NamedTuple

from tantivy import DocAddress, Query

from readapi.index.folder import IndexFolder, exclude_query, ignore_score, match_all, match_any
from readapi.index.paging import MANY, Listing, Row
from readapi.index.search import tier as tiers
from readapi.index.search.hit import HIT_OF, Hit, Match, Place
from readapi.index.search.popular import walk_popular
from readapi.index.search.relaxed import relaxed_query
from readapi.index.search.tier import best_tiers
from readapi.index.search.tiers import Tiers
from readapi.index.search.weights import relaxed_step
from schemas import search_index
from schemas.search_index import KIND_SPAN, KINDS, Kind, split_size

Sort = Literal["relevance", "recent", "popular"]
FEW = 50  # matches without a typo, below which those with one join
PAGE = 20  # matches with those, below which the relaxed tier joins
MOST_RELAXED = 100  # matches of that tier, the best ones
AT_ONCE: Final = 160

_BY_TIER = itemgetter(0, 1, 2)
_BY_KEY = itemgetter(1, 2)
_SAME_SCORE = 1e-4  # sums of the same weights differ by less


class _Found(NamedTuple):
    """How many matches there are, and the best of them in any order; all, unless there are many."""

    total: int
    matches: list[Match]
    is_all: bool


# How far a search went, as its first page settles it.
Reach = Literal[0, 1, 2]
STRICTLY: Final[Reach] = 0
WITH_TYPOS: Final[Reach] = 1
RELAXED: Final[Reach] = 2


class Matches:
    """The matches of one search, by kind. `reach` is given when an earlier page has settled it.

    A search is narrowed by `terms`, each a field and its value, which every match has, and by `filters`.
    `left_out` narrows it too, but hardly: few results are among it.
    """

    def __init__(
        self,
        folder: IndexFolder,
        wanted: Tiers,
        terms: Sequence[tuple[str, str]],
        filters: Iterable[Query],
        sort: Sort,
        reach: Reach | None,
        left_out: Query | None = None,
    ) -> None:
        self._folder, self.wanted, self._sort = folder, wanted, sort
        self._named_terms = terms
        self._terms = [ignore_score(folder.term(*term)) for term in terms]
        self._others = [ignore_score(query) for query in filters]
        self._is_narrowed = bool(self._terms or self._others)
        if left_out is not None:
            self._others.append(ignore_score(exclude_query(Query.all_query(), left_out)))
        self._filters = [*self._terms, *self._others]
        self._few: dict[Kind, list[Match]] = {}
        self._best: dict[Kind, list[Match]] = {}
        self.totals: dict[Kind, int] = {}
        self.reach = reach or STRICTLY
        found = self._settled() if reach is None else self._gone_on()
        if found.is_all:
            matches = self._with_relaxed(found.matches) if self.reach == RELAXED else found.matches
            self._few = self._by_kind(matches)
            self.totals = {kind: len(few) for kind, few in self._few.items()}
        else:
            self._best = self._by_kind(found.matches)
            # A total with typos counts a document twice that matches both with and without one.
            self._count(None if self.reach else found.total)

    def after(self, kind: Kind, place: Place | None, limit: int) -> Iterator[Hit]:
        """The matches of a kind in order, from a place on: `limit` and one more, if there are so many."""
        if self._few:
            return self._few_after(kind, place)
        if self._name is None or place is not None:
            return self._walk(kind, place, limit)
        return iter(
            self._folder.first_page(
                (self._name, self._sort, kind, limit),
                lambda: list(islice(self._walk(kind, None, limit), limit + 1)),
            )
        )

    def _walk(self, kind: Kind, place: Place | None, limit: int) -> Iterator[Hit]:
        """Many matches of a kind in order, from a place on; read by about `limit` at a time."""
        if self._sort == "relevance":
            return self._tier_by_tier(kind, place, limit) if place else self._best_first(kind, limit)
        everything = self._everything()
        if everything is None:
            return iter(())
        listing = Listing(self._folder, self._of_kind(everything, kind), self._sort)
        return (_hit(0, row) for row in listing.walk(place.position if place else None, limit))

    def best_tiers(self, kind: Kind, hits: Sequence[Hit]) -> Mapping[int, int]:
        """The best tier of each of these matches, by `minus_id`."""
        if not hits:
            return {}
        if self._few:
            return {minus_id: tier for tier, _, minus_id, _ in self._few[kind]}
        these = match_any(*(self._folder.term("id", -hit.minus_id) for hit in hits))
        found = self._found(self._tiers, these, most=len(hits))
        return {minus_id: tier for tier, _, minus_id, _ in found.matches}

    @property
    def _name(self) -> Hashable:
        """What tells this search from others, for what is remembered of it; None if it is narrowed."""
        return None if self._is_narrowed else (self.wanted.wanted, self._tiers, len(self._filters))

    @cached_property
    def _expected(self) -> float:
        """About how many documents match. Computed only where needed: remembered pages are not searched."""
        return self.wanted.expected(self._named_terms)

    @property
    def _tiers(self) -> range:
        return tiers.ALL if self.reach else tiers.STRICT

    def _everything(self) -> Query | None:
        return self.wanted.all if self.reach else self.wanted.strict

    def _settled(self) -> _Found:
        """What a first page finds of all kinds. Where that is little, matches with a typo join."""
        if not self._is_narrowed and (self.wanted.is_broad(AT_ONCE) or self._expected > MANY):
            # Tier by tier, the first page of words that many names have is sooner found.
            total = sum(self._count().values())
            if total > AT_ONCE:
                return _Found(total, [], is_all=False)
            self.totals = {}  # counted anew, if matches with a typo join
        strict = self._found(tiers.STRICT)
        if strict.total >= FEW:
            return strict
        near = self._found(tiers.NEAR)
        seen = {minus_id for _, _, minus_id, _ in strict.matches}
        matches = strict.matches + [match for match in near.matches if match[2] not in seen]
        self.reach = RELAXED if near.is_all and len(matches) < PAGE else WITH_TYPOS
        return _Found(strict.total + near.total, matches, near.is_all)

    def _gone_on(self) -> _Found:
        """What is needed for a further page: all matches if they are few, else where each page begins."""
        total = sum(self._count().values())
        return _Found(total, [], is_all=False) if total > AT_ONCE else self._found(self._tiers)

    def _count(self, total: int | None = None) -> dict[Kind, int]:
        """How many matches there are of each kind. `total`: of all, if that is known."""
        everything = self._everything()
        if everything is not None and not self.totals:
            # Each page of many matches asks again.
            self.totals = self._folder.count_kinds(match_all(everything, *self._filters), self._name, total)
        return self.totals

    def _with_relaxed(self, better: list[Match]) -> list[Match]:
        """These matches, and those of the relaxed tier that are not among them."""
        is_found = any(tier in tiers.STRICT for tier, *_ in better)
        relaxed = relaxed_query(self._folder, self.wanted, forgiving=not is_found)
        if relaxed is None:
            return better
        query = match_all(relaxed.query, *self._filters)
        hits, total = self._folder.search(query, MOST_RELAXED, count=True)
        if total > len(hits):
            # Which of equally good matches are the last ones depends on how the index was written.
            hits = [hit for hit in hits if hit[0] > hits[-1][0] + _SAME_SCORE] or hits
        addresses = [address for _, address in hits]
        keys, ids = self._keys(addresses)
        seen = {minus_id for _, _, minus_id, _ in better}
        matches = [*better]
        sizes = self._folder.numbers("size", addresses)
        for (score, address), key, number, size in zip(hits, keys, ids, sizes, strict=True):
            step = relaxed_step(score / relaxed.weight, split_size(size)[0] == relaxed.length)
            if step is not None and -number not in seen:
                matches.append((tiers.COUNT + step, -key, -number, address))
        return matches

    def _found(self, wanted: range, among: Query | None = None, most: int = AT_ONCE) -> _Found:
        """The best matches of these tiers, each in its best one."""
        # What a name's size tells is read from the matches, and asked of the index where these miss some: at
        # once among a tag or an artist's tracks, where a common word mostly has too many in titles.
        is_refined = among is None and self._is_narrowed and self._expected > most
        scores, addresses, total = self._scored(wanted, among, most, refined=is_refined)
        is_all = total <= most
        found = best_tiers(scores) if is_refined else self._told(scores, addresses, is_all)
        if found is None:
            scores, addresses, _ = self._scored(wanted, among, most, refined=True)
            found = best_tiers(scores)
        if not is_all:
            # Scores are rounded: others that are as good as the last ones may be missing.
            addresses = addresses[: scores.index(scores[-1])]
        keys, ids = self._keys(addresses)
        matches = zip(found, map(neg, keys), map(neg, ids), addresses, strict=False)
        return _Found(total, list(matches), is_all)

    def _scored(
        self, wanted: range, among: Query | None, most: int, *, refined: bool
    ) -> tuple[list[float], list[DocAddress], int]:
        """The scores of the best matches in falling order, their addresses, and the number of all matches."""
        terms = self._terms if among is None else [*self._terms, among]
        query = self.wanted.scored(wanted, terms, refined=refined)
        if query is None:
            return [], [], 0
        hits, total = self._folder.search(match_all(query, *self._others), most, weight="popular", count=True)
        return [score for score, _ in hits], [address for _, address in hits], total

    def _told(self, scores: Iterable[float], addresses: list[DocAddress], is_all: bool) -> list[int] | None:
        """The tiers of matches by their scores and the sizes of their names; None where these do not tell."""
        found = best_tiers(scores)
        if not is_all and found[-1] not in tiers.SETTLED:
            return None
        return self.wanted.refine(found, self._folder.numbers("size", addresses))

    def _keys(self, addresses: list[DocAddress]) -> tuple[list[int], list[int]]:
        """The sort key and the id of each of these documents."""
        field = "recent" if self._sort == "recent" else "popular"
        return self._folder.numbers(field, addresses), self._folder.numbers("id", addresses)

    def _by_kind(self, matches: Iterable[Match]) -> dict[Kind, list[Match]]:
        """These matches in order, by kind."""
        kinds: list[list[Match]] = [[] for _ in KINDS]
        # No two have the same id, so that addresses are not compared.
        ordered = sorted(matches) if self._sort == "relevance" else sorted(matches, key=_BY_KEY)
        for match in ordered:
            kinds[-match[2] // KIND_SPAN].append(match)
        return dict(zip(KINDS, kinds, strict=True))

    def _few_after(self, kind: Kind, place: Place | None) -> Iterator[Hit]:
        matches = map(HIT_OF, self._few[kind])
        if place is None:
            return matches
        rank = _BY_TIER if self._sort == "relevance" else _BY_KEY
        start = rank((place.tier, -place.position.key, -place.position.id))
        return (hit for hit in matches if rank(hit) > start)

    def _best_first(self, kind: Kind, limit: int) -> Iterator[Hit]:
        """All matches of a kind among many, from those that are known to be the best."""
        total = self.totals[kind]
        if len(self._best[kind]) < min(total, limit + 1):
            self._ask_for(kind)
        best = self._best[kind]
        yield from map(HIT_OF, best)
        if len(best) < total:
            place = HIT_OF(best[-1]).place if best else None
            yield from self._tier_by_tier(kind, place, limit)

    def _ask_for(self, kind: Kind) -> None:
        """Ask for all matches of a kind at once, if they are few; for all but tracks, if these are."""
        of_others = sum(self.totals.values()) - self.totals["track"]
        if kind != "track" and of_others <= AT_ONCE:
            others = self._found(self._tiers, self._folder.term("kind", search_index.OTHER))
            self._best |= {**self._by_kind(others.matches), "track": self._best["track"]}
        elif self.totals[kind] <= AT_ONCE:
            found = self._found(self._tiers, self._folder.term("kind", kind))
            self._best[kind] = self._by_kind(found.matches)[kind]

    def _tier_by_tier(self, kind: Kind, place: Place | None, limit: int) -> Iterator[Hit]:
        first = place.tier if place else 0
        better = self.wanted.widest(self._tiers[:first])
        seen: set[int] = set()
        for tier in self._tiers[first:]:
            query = self.wanted.query(tier)
            if query is None:
                continue
            position = place.position if place and tier == first else None
            remaining = self._of_kind(exclude_query(query, *better), kind)
            for row in walk_popular(self._folder, remaining, self.totals[kind], position, limit):
                if row.id not in seen:
                    seen.add(row.id)
                    yield _hit(tier, row)
            if position is not None:
                # What came before the place in this tier was not seen here.
                better = self.wanted.widest(self._tiers[: tier + 1])

    def _of_kind(self, query: Query, kind: Kind) -> Query:
        """The query among one kind, as far as the search was narrowed."""
        if kind == "track":
            return match_all(
                exclude_query(query, self._folder.term("kind", search_index.OTHER)), *self._filters
            )
        return match_all(query, ignore_score(self._folder.term("kind", kind)), *self._filters)


def _hit(tier: int, row: Row) -> Hit:
    return Hit(tier, -row.key, -row.id, row.address)
