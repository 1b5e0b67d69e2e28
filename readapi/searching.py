"""A search over everything: tiers, filters, true totals, and cursors that visit each result once."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import orjson
from tantivy import Query

from readapi import tiers
from readapi.cards import Card
from readapi.errors import InvalidCursor
from readapi.highlights import highlight
from readapi.index_folder import either, every, without
from readapi.paging import Listing, Position, Row
from readapi.query_words import QueryWords
from readapi.search import Index
from readapi.tiers import Tiers
from schemas.ids import normalise_tag
from schemas.search_index import COUNT_SHIFT, KINDS, MARKS, Kind

Sort = Literal["relevance", "recent", "popular"]
FEW = 50  # strict results of a kind, below which those a typo apart join
_COUNTED_AT_ONCE = 256
_LARGEST = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Search:
    """What is asked for."""

    text: str
    kinds: Sequence[Kind] = KINDS
    sort: Sort = "relevance"
    tag: str | None = None
    artist_did: str | None = None


class Found(NamedTuple):
    """Results as JSON, the totals of every kind, and where to go on."""

    results: list[bytes]
    counts: dict[Kind, int]
    after: str | None


class Place(NamedTuple):
    """Where a page ended among the results of one kind. Whether typos joined is settled on the first page."""

    with_typos: bool
    tier: int
    position: Position


class Hit(NamedTuple):
    """One result on its way: `tier` says how well it matches."""

    tier: int
    row: Row


def search(index: Index, wanted: Search, after: str | None, limit: int) -> Found:
    """A page of up to `limit` results of each kind, the best of all first. Raises InvalidCursor."""
    places = None if after is None else _read(after)
    asked = _Asked(index, wanted, {} if places is None else places)
    ranked: list[tuple[float, bytes]] = []
    ends: dict[Kind, Place] = {}
    for kind in wanted.kinds if places is None else [kind for kind in wanted.kinds if kind in places]:
        hits, end = asked.page(kind, limit)
        ranked += asked.render(kind, hits)
        if end is not None:
            ends[kind] = end
    ranked.sort(key=lambda result: -result[0])
    return Found([result for _, result in ranked], asked.totals, _write(ends))


class _Asked:
    """One search: its queries, and how much of each kind they find."""

    def __init__(self, index: Index, wanted: Search, places: Mapping[Kind, Place]) -> None:
        self._index, self._folder = index, index.catalog
        self._sort, self._places = wanted.sort, places
        self._words = QueryWords.read(wanted.text)
        self._filters = self._read_filters(wanted)
        self._tiers = {mark: Tiers(self._folder, mark, self._words) for mark in set(MARKS.values())}
        self._with_typos: dict[Kind, bool] = {}
        self.totals: dict[Kind, int] = {}
        for mark in self._tiers:
            self._count(mark)

    def page(self, kind: Kind, limit: int) -> tuple[list[Hit], Place | None]:
        """The next hits of a kind, and where the page after them goes on."""
        hits: list[Hit] = []
        whole = self.totals[kind] if kind not in self._places else None
        for hit in self._walk(kind, limit) if whole != 0 else ():
            if len(hits) == limit:
                last = hits[-1]
                return hits, Place(self._with_typos[kind], last.tier, last.row.position)
            hits.append(hit)
            if len(hits) == whole:
                break
        return hits, None

    def render(self, kind: Kind, hits: Sequence[Hit]) -> list[tuple[float, bytes]]:
        """Each hit's place in the order of all kinds, and its JSON."""
        rows = [hit.row for hit in hits]
        cards = self._index.unpack(rows)
        if self._sort == "relevance":
            found = [_relevance(hit.tier, hit.row.key) for hit in hits]
            ranks: list[float] = found
        else:
            keys = self._folder.numbers("popular", [row.address for row in rows])
            best = self._best_tiers(kind, rows)
            found = [
                _relevance(best.get(row.id, tiers.COUNT - 1), key)
                for row, key in zip(rows, keys, strict=True)
            ]
            ranks = [row.key for row in rows]
        results = [self._result(card, relevance) for card, relevance in zip(cards, found, strict=True)]
        return list(zip(ranks, results, strict=True))

    def _walk(self, kind: Kind, limit: int) -> Iterator[Hit]:
        place = self._places.get(kind)
        if self._sort != "relevance":
            found = self._matching(kind, self._everything(kind))
            listing = Listing(self._folder, found, self._sort)
            yield from (Hit(0, row) for row in listing.walk(place.position if place else None, limit))
            return
        better: list[Query] = []
        for tier, query in self._tiers_of(kind).items():
            if place is None or tier >= place.tier:
                position = place.position if place and tier == place.tier else None
                found = self._matching(kind, without(query, *better))
                yield from (
                    Hit(tier, row) for row in Listing(self._folder, found, "popular").walk(position, limit)
                )
            better.append(query)

    def _tiers_of(self, kind: Kind) -> dict[int, Query]:
        found = self._tiers[MARKS[kind]]
        return found.strict | found.near if self._with_typos[kind] else found.strict

    def _everything(self, kind: Kind) -> Query | None:
        found = self._tiers[MARKS[kind]]
        return found.everything if self._with_typos[kind] else found.all_strict

    def _matching(self, kind: Kind, query: Query | None) -> Query:
        if query is None:
            return Query.empty_query()
        one_of_several = [] if MARKS[kind] == "t" else [self._folder.term("kind", kind)]
        return every(query, *one_of_several, *self._filters)

    def _count(self, mark: str) -> None:
        """Settle the totals of the kinds that share a mark, and which of them typos join."""
        kinds = [kind for kind in KINDS if MARKS[kind] == mark]
        strict = self._totals(kinds, self._tiers[mark].all_strict)
        for kind in kinds:
            place = self._places.get(kind)
            self._with_typos[kind] = place.with_typos if place else strict[kind] < FEW
        with_typos = [kind for kind in kinds if self._with_typos[kind]]
        self.totals |= strict
        if with_typos and self._tiers[mark].near:
            self.totals |= self._totals(with_typos, self._tiers[mark].everything)

    def _totals(self, kinds: Sequence[Kind], query: Query | None) -> dict[Kind, int]:
        if query is None:
            return dict.fromkeys(kinds, 0)
        if len(kinds) > 1:
            addresses = self._index.addresses(every(query, *self._filters), _COUNTED_AT_ONCE)
            if len(addresses) < _COUNTED_AT_ONCE:
                counted = Counter(self._folder.numbers("kind_number", addresses))
                return {kind: counted[KINDS.index(kind)] for kind in kinds}
        return {kind: self._folder.count(self._matching(kind, query)) for kind in kinds}

    def _read_filters(self, wanted: Search) -> list[Query]:
        filters = []
        if wanted.tag is not None:
            filters.append(self._folder.term("tag", normalise_tag(wanted.tag)))
        if wanted.artist_did is not None:
            filters.append(self._folder.term("did", wanted.artist_did))
        return filters

    def _best_tiers(self, kind: Kind, rows: Sequence[Row]) -> dict[int, int]:
        """The best tier that each of these rows is in, by id."""
        best: dict[int, int] = {}
        if not rows:
            return best
        these = either(*(self._folder.term("id", row.id) for row in rows))
        for tier, query in reversed(self._tiers_of(kind).items()):
            found = self._index.addresses(every(query, these), len(rows))
            best |= dict.fromkeys(self._folder.numbers("id", found), tier)
        return best

    def _result(self, card: Card, relevance: float) -> bytes:
        shown = None
        if card.doc.startswith("track:"):
            shown = highlight(orjson.loads(card.hit + b"}")["title"], self._words)
        if shown is None:
            return b'%b,"relevance":%.4f}' % (card.hit, relevance)
        return b'%b,"relevance":%.4f,"highlight":%b}' % (card.hit, relevance, orjson.dumps(shown))


def _relevance(tier: int, popular: int) -> float:
    """Between 0 and 1: the tier, and within it how popular the result is."""
    return (tiers.COUNT - 1 - tier + math.log2(2 + (popular >> COUNT_SHIFT)) / 32) / tiers.COUNT


def _write(ends: Mapping[Kind, Place]) -> str | None:
    if not ends:
        return None
    places = {kind: [int(end.with_typos), end.tier, *end.position] for kind, end in ends.items()}
    return orjson.dumps(places).decode()


def _read(after: str) -> dict[Kind, Place]:
    try:
        written = orjson.loads(after)
        places = {kind: _place(*written[kind]) for kind in KINDS if kind in written}
    except (orjson.JSONDecodeError, TypeError, ValueError, KeyError) as error:
        raise InvalidCursor from error
    if not places:
        raise InvalidCursor
    return places


def _place(with_typos: int, tier: int, key: int, record_id: int) -> Place:
    if not all(
        type(number) is int and 0 <= number <= _LARGEST for number in (with_typos, tier, key, record_id)
    ):
        raise ValueError("a number that no position holds")
    return Place(bool(with_typos), tier, Position(key, record_id))
