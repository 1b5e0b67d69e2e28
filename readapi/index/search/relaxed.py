"""The relaxed tier: what explains most of a query's weight, when not all of its words are found as typed.

A word is explained by itself, by a word that it begins, by one or two typos, or by the middle of a word.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from tantivy import Occur, Query

from readapi.index.folder import IndexFolder, match_all, match_any
from readapi.index.search.query import Word
from readapi.index.search.tiers import Tiers
from readapi.index.search.weights import essential_words, weigh_words
from schemas import search_text
from schemas.search_index import START_LETTERS

MOST: Final = 100  # matches of this tier
MOST_WORDS: Final = 8  # the heaviest ones
_ONE_TYPO: Final = 4  # letters, from which a word may have a typo
_TWO_TYPOS: Final = 7  # a word of eight letters may lack one
_DISTINCT: Final = 6  # letters, from which a word that is a typo apart is hardly so by chance
_LONGEST: Final = 18  # with two typos: the rests of longer words are too many
_MOST_FORGIVEN: Final = 3  # words whose typos and middles are looked for


class Way(NamedTuple):
    """One way in which documents explain a word, and how well it does: a share of the word's weight.

    `query`: None if no document does.
    """

    query: Query | None
    quality: float
    typos: int = 0
    name: str = "name"


@dataclass(frozen=True, slots=True)
class Relaxed:
    """The query whose scores are explained weights, the weight of all words, and how many make the title."""

    query: Query
    weight: float
    length: int


def relaxed_query(folder: IndexFolder, tiers: Tiers, *, forgiving: bool) -> Relaxed | None:
    """The query of the relaxed tier; None where there are no words or no index.

    `forgiving`: words may be mistyped. They hardly are where all of them are found as typed.
    """
    wanted = tiers.wanted
    searcher = folder.searcher
    if searcher is None or not wanted.words:
        return None
    held = [_held(folder, tiers, word) for word in wanted.words]
    weights = weigh_words(held, wanted.shares, searcher.num_docs)
    chosen = sorted(range(len(weights)), key=lambda position: -weights[position])[:MOST_WORDS]
    ways = Ways(folder, tiers, all_known=all(held), forgiving=forgiving)
    queries = [_best_of(ways.explaining(wanted.words[position]), weights[position]) for position in chosen]
    kept = [weights[position] for position in chosen]
    needed = set(essential_words(kept))
    must = [query for position, query in enumerate(queries) if query is not None and position in needed]
    if not must:
        return None
    other = [query for position, query in enumerate(queries) if query is not None and position not in needed]
    query = Query.boolean_query([(Occur.Must, match_any(*must)), *((Occur.Should, query) for query in other)])
    return Relaxed(query, sum(kept), len(wanted.title))


class Ways:
    """The ways to explain the words of a query, the best first. `all_known`: each word is one of names."""

    def __init__(self, folder: IndexFolder, tiers: Tiers, *, all_known: bool, forgiving: bool) -> None:
        self._folder, self._tiers, self._all_known = folder, tiers, all_known
        self._title = frozenset(tiers.wanted.title)
        whole = "".join(word.text for word in tiers.wanted.title)
        self._whole = folder.term("exact", whole) if whole and folder.estimate_term("exact", whole) else None
        self._to_forgive = _MOST_FORGIVEN if forgiving else 0

    def explaining(self, word: Word) -> Iterator[Way]:
        """The ways to explain one word."""
        if self._whole is not None and word in self._title:
            yield Way(self._whole, 1.0, name="title")
        if self._tiers.is_found("names", word):
            yield Way(self._tiers.word("names", word), 0.95)
        if word.is_unspaced and self._to_forgive:
            yield from self._some_pairs(word)
        elif not word.parts and self._to_forgive and self._is_suspect(word):
            self._to_forgive -= 1
            yield from self._nearly(word)

    def _is_suspect(self, word: Word) -> bool:
        """Whether a word may be meant to be another: no name has it, or few when all words are known."""
        return not self._tiers.held(word) or (self._all_known and self._tiers.may_be_typo(word))

    def _some_pairs(self, word: Word) -> Iterator[Way]:
        pairs = search_text.pair_letters(word.text)
        if len(pairs) > 2:
            for at in range(len(pairs)):
                but_one = [pair for position, pair in enumerate(pairs[:MOST_WORDS]) if position != at]
                yield Way(match_all(*(self._folder.term("names", pair) for pair in but_one)), 0.6, 1)

    def _nearly(self, word: Word) -> Iterator[Way]:
        text = word.text
        may_be_near = len(text) >= _ONE_TYPO
        near = self._tiers.near_word(word) if may_be_near else None
        if near is not None:
            yield Way(near, 0.85, 1)
        is_distinct = near is not None and len(text) >= _DISTINCT
        if may_be_near and not is_distinct and word.is_last and len(text) <= START_LETTERS:
            yield Way(self._mistyped_start(text), 0.75, 1)
        if self._tiers.held(word.complete()):
            return
        if _TWO_TYPOS <= len(text) <= _LONGEST and near is None:
            yield Way(self._tiers.near(search_text.two_deletions(text)), 0.65, 2)
        if len(text) >= search_text.END_LETTERS:
            yield Way(self._middle(text), 0.7, name="title")

    def _mistyped_start(self, text: str) -> Query:
        return Query.fuzzy_term_query(self._folder.schema, "names_starts", text, distance=1)

    def _middle(self, text: str) -> Query:
        return Query.fuzzy_term_query(self._folder.schema, "ends", text, distance=0, prefix=True)


def _held(folder: IndexFolder, tiers: Tiers, word: Word) -> int:
    """How many documents hold a word; of a run without spaces, its rarest pair."""
    if word.is_unspaced:
        return min(folder.count_term("names", pair) for pair in search_text.pair_letters(word.text))
    return tiers.held(word)


def _best_of(ways: Iterable[Way], weight: float) -> Query | None:
    scored = [
        Query.const_score_query(way.query, weight * way.quality) for way in ways if way.query is not None
    ]
    return Query.disjunction_max_query(scored) if scored else None
