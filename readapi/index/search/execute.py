"""A search over all kinds: a page of results, true totals, and a cursor that visits each result once."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress, islice
from operator import itemgetter
from typing import Final, NamedTuple

import orjson
from tantivy import Query

from readapi.errors import InvalidCursor
from readapi.index.folder import exclude_query
from readapi.index.lookups import Index
from readapi.index.paging import Position
from readapi.index.search import tier as tiers
from readapi.index.search.conditions import any_condition, condition_query
from readapi.index.search.explain import Explainer, popular_keys
from readapi.index.search.highlights import Highlighter, title_of
from readapi.index.search.hit import Hit, Place
from readapi.index.search.matches import RELAXED, STRICTLY, WITH_TYPOS, Matches, Reach, Sort
from readapi.index.search.query import QueryWords
from readapi.index.search.tiers import Tiers
from readapi.index.search.weights import STEPS
from schemas.ids import normalise_tag
from schemas.search_index import ADULT, COUNT_SHIFT, KIND_SPAN, KINDS, Kind, kind_of

_LARGEST = 2**64 - 1
_NO_TRACK: Final = -KIND_SPAN  # ids of tracks are below those of other kinds; sorted, all are negative
_REACHES: Final = (STRICTLY, WITH_TYPOS, RELAXED)
# The least relevance of each tier and how much popularity adds, in sevenths: see readapi.index.search.tier.
_TIERS: Final = [
    (6.5, 0.5), (6, 0.5), (5.75, 0.25), (5.5, 0.25), (5.25, 0.25), (5, 0.25), (4.75, 0.25), (4.5, 0.25),
    (4.25, 0.25), (4, 0.25), (3, 1), (2, 1), (1.5, 0.5), (1.25, 0.25), (1, 0.25), (0.75, 0.25), (0.5, 0.25),
]  # fmt: skip
_RELAXED: Final = [(0.5 * (STEPS - step) / (STEPS + 1), 0.5 / (STEPS + 1)) for step in range(STEPS + 1)]
_BANDS: Final[list[tuple[float, float]]] = [*_TIERS, *_RELAXED]


# A number to sort by, the relevance as JSON, and the hit.
_Rated = tuple[float, bytes, Hit]
_BY_RELEVANCE: Final = itemgetter(0)


@dataclass(frozen=True, slots=True)
class Search:
    """A search request."""

    text: str
    kinds: Sequence[Kind] = KINDS
    sort: Sort = "relevance"
    tag: str | None = None
    artist_did: str | None = None
    explain: bool = False
    adult: bool = False


class Found(NamedTuple):
    """The words of the text, results as JSON, the totals of every kind, and the next cursor.

    `is_exact`: a result of this page has all words of the text, without typos. The last may be the beginning
    of a word there; a name may have other spaces, or lack the plural ending of the text.
    """

    words: QueryWords
    results: list[bytes]
    counts: dict[Kind, int]
    after: str | None
    is_exact: bool


class _Cursor(NamedTuple):
    """Where each kind's page ended. The first page settles how far the search goes."""

    reach: Reach
    places: Mapping[Kind, Place]


def execute_search(index: Index, wanted: Search, after: str | None, limit: int) -> Found:
    """A page of up to `limit` results of each kind, the best first. Raises InvalidCursor or IndexNotReady."""
    index.require()
    cursor = None if after is None else _read_cursor(after)
    kinds = [kind for kind in wanted.kinds if cursor is None or kind in cursor.places]
    words = QueryWords.read(wanted.text)
    matches = Matches(
        index.words,
        Tiers(index.words, words),
        list(_terms(wanted)),
        _filters(index, words),
        wanted.sort,
        reach=cursor.reach if cursor else None,
        left_out=None if wanted.adult else _adult_results(index),
    )
    shown: list[_Rated] = []
    ends: dict[Kind, Place] = {}
    for kind in kinds:
        hits = list(islice(matches.after(kind, cursor.places[kind] if cursor else None, limit), limit + 1))
        if len(hits) > limit:
            ends[kind] = hits[limit - 1].place
        shown += _rate_hits(index, kind, matches, hits[:limit], wanted.sort)
    # Sorts that are stable keep equals in the order of their kinds.
    shown.sort(key=_BY_RELEVANCE if wanted.sort == "relevance" else _by_key)
    results, hits = _render_hits(index, shown, words)
    if wanted.explain:
        results = _with_reasons(index, matches, results, hits)
    is_exact = any(hit.tier in tiers.STRICT for hit in hits)
    return Found(words, results, matches.totals, _write_cursor(matches.reach, ends), is_exact)


def _by_key(rated: _Rated) -> int:
    return rated[2].minus_key


def _terms(wanted: Search) -> Iterator[tuple[str, str]]:
    """The terms that every result has, by their fields."""
    if wanted.tag is not None:
        yield "tag", normalise_tag(wanted.tag)
    if wanted.artist_did is not None:
        yield "did", wanted.artist_did


def _filters(index: Index, words: QueryWords) -> list[Query]:
    """What else operators of the text ask of every result."""
    filters = [condition_query(index.words, condition) for condition in words.required]
    excluded = any_condition(index.words, words.excluded)
    if excluded is not None:
        filters.append(exclude_query(Query.all_query(), excluded))
    return filters


def _adult_results(index: Index) -> Query | None:
    """What is for adults; None where there is nothing, so that searches are not narrowed."""
    return index.words.term("kind", ADULT) if index.words.has_term("kind", ADULT) else None


def _rate_hits(
    index: Index, kind: Kind, matches: Matches, hits: Sequence[Hit], sort: Sort
) -> Iterator[_Rated]:
    """Each hit with its relevance."""
    if sort == "relevance" or not hits:
        return ((*_relevance(hit.tier, -hit.minus_key >> COUNT_SHIFT), hit) for hit in hits)
    best = matches.best_tiers(kind, hits)
    popular = index.words.numbers("popular", [hit.address for hit in hits])
    return (
        (*_relevance(best.get(hit.minus_id, tiers.COUNT - 1), key >> COUNT_SHIFT), hit)
        for hit, key in zip(hits, popular, strict=True)
    )


def _render_hits(index: Index, shown: Sequence[_Rated], words: QueryWords) -> tuple[list[bytes], list[Hit]]:
    """Results as JSON, and the hit of each; those that are taken down are left out."""
    found = index.hits([hit.address for _, _, hit in shown])
    if None in found:
        shown = list(compress(shown, found))
    cards = [card for card in found if card is not None]
    hits = [hit for _, _, hit in shown]
    titles = [
        title_of(card) if hit.minus_id > _NO_TRACK else "" for card, hit in zip(cards, hits, strict=True)
    ]
    marked = Highlighter(words).mark(titles)
    results = [
        b"%b%b}" % (card, relevance)
        if title is None
        else b'%b%b,"highlight":%b}' % (card, relevance, orjson.dumps(title))
        for card, (_, relevance, _), title in zip(cards, shown, marked, strict=True)
    ]
    return results, hits


def _with_reasons(
    index: Index, matches: Matches, results: Sequence[bytes], hits: Sequence[Hit]
) -> list[bytes]:
    """The results, each with an explanation."""
    explainer = Explainer(index.words, matches.wanted, hits)
    popular = popular_keys(index.words, hits)
    best: dict[int, int] = {}
    for kind in KINDS:
        best |= matches.best_tiers(kind, [hit for hit in hits if kind_of(-hit.minus_id) == kind])
    return [
        b'%b,"explain":%b}'
        % (result[:-1], explainer.of(hit, best.get(hit.minus_id, hit.tier), popular[hit.minus_id]))
        for result, hit in zip(results, hits, strict=True)
    ]


@lru_cache(maxsize=8192)
def _relevance(tier: int, count: int) -> tuple[float, bytes]:
    """A number to sort by, the best first, and the relevance as JSON.

    It is between 0 and 1: the tier, and within it how popular the result is.
    """
    floor, width = _BANDS[min(tier, len(_BANDS) - 1)]
    relevance = (floor + width * math.log2(2 + count) / 32) / 7
    return -relevance, b',"relevance":%.4f' % relevance


def _write_cursor(reach: Reach, ends: Mapping[Kind, Place]) -> str | None:
    if not ends:
        return None
    places = {kind: [place.tier, *place.position] for kind, place in ends.items()}
    return orjson.dumps([reach, places]).decode()


def _read_cursor(after: str) -> _Cursor:
    try:
        reach, written = orjson.loads(after)
        places = {kind: _place(*written[kind]) for kind in KINDS if kind in written}
    except (orjson.JSONDecodeError, TypeError, ValueError) as error:
        raise InvalidCursor from error
    if not places or reach not in _REACHES:
        raise InvalidCursor
    return _Cursor(reach, places)


def _place(tier: int, key: int, record_id: int) -> Place:
    if not all(type(number) is int and 0 <= number <= _LARGEST for number in (tier, key, record_id)):
        raise ValueError("a number that no place holds")
    return Place(tier, Position(key, record_id))
