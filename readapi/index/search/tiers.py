"""The tiers of search matches, best first.

Exact name > name of as many words that begins so > name that begins so > all words of the name > all words in
the name > all words among the names > all words, those of the description too > name a typo apart > one word
a typo apart. Below them comes the relaxed tier, in steps (`readapi.index.search.relaxed`).
"""

import math
from collections.abc import Iterable
from typing import Final

from tantivy import Query

from readapi.index.folder import IndexFolder, match_all, match_any
from readapi.index.search.query import QueryWords, Word
from schemas import search_text
from schemas.search_index import START_LETTERS, WHOLE, word_count

COUNT: Final = 9
STRICT: Final = range(7)
NEAR: Final = range(7, 9)
ALL: Final = range(COUNT)
_OF_WORDS: Final = (1, 3, 4, 5, 6, 8)
_FITTING: Final = (1, 3)
_FITTING_LETTERS = 4  # of a query of one word, from which names of one word come before longer ones
_MOST_NEAR_WORDS = 6
_WELL_KNOWN = 100
# A match scores the weight of its best tier, times log2(2 + its popularity), which is between 1 and 64.
_BITS: Final = 7
_WEIGHTS: Final = [float(1 << _BITS * tier) for tier in reversed(ALL)]


def best_tier(score: float) -> int:
    """The best tier of a match, from its score in a search that is weighted by popularity."""
    return COUNT - 1 - (math.frexp(score)[1] - 1) // _BITS


class Tiers:
    """The queries of a search, each made when first needed; None: no document can match.

    To ask whether the index has a term costs less than a query for it: what is missing mostly is left out.
    """

    def __init__(self, folder: IndexFolder, wanted: QueryWords) -> None:
        self._folder, self.wanted = folder, wanted
        self._made: dict[int, Query | None] = {}
        self._found: dict[tuple[str, Word], bool] = {}

    def query(self, tier: int) -> Query | None:
        """The matches of one tier, including those of better tiers."""
        if tier not in self._made:
            self._made[tier] = self._make(tier)
        return self._made[tier]

    def scored(self, wanted: Iterable[int]) -> Query | None:
        """What these tiers find; `best_tier` reads the scores."""
        asked = (tier for tier in wanted if tier not in _FITTING or self._is_fitting)
        made = [(query, _WEIGHTS[tier]) for tier in asked if (query := self.query(tier)) is not None]
        scored = [Query.const_score_query(query, weight) for query, weight in made]
        return Query.disjunction_max_query(scored) if len(scored) > 1 else next(iter(scored), None)

    def is_broad(self, names: int) -> bool:
        """Whether the query is one word that more names than about these have."""
        words = self.wanted.words
        if len(words) != 1 or words[0].is_unspaced or words[0].parts:
            return False
        return (
            self._folder.estimate_term("names_starts" if words[0].is_last else "names", words[0].text) > names
        )

    def _make(self, tier: int) -> Query | None:
        if not self.wanted.whole or (tier in _OF_WORDS and not self.wanted.words):
            return None
        match tier:
            case 0:
                return self._folder.term("exact", self.wanted.whole) if self.query(2) is not None else None
            case 1 | 3:
                return self._fitting(self.query(tier + 1))
            case 2:
                has_start = self._folder.estimate_term("exact_starts", self.wanted.whole[:START_LETTERS])
                return self._start("exact", self.wanted.whole) if has_start else None
            case 4:
                return self._words("title")
            case 5:
                return self._words("names")
            case 6:
                return self._text()
            case 7:
                return self.near([WHOLE + rest for rest in search_text.whole_rests(self.wanted.whole)])
            case _:
                return self._one_typo()

    def _fitting(self, query: Query | None) -> Query | None:
        """Those of these documents that have an own name of as many words."""
        if query is None or not self._is_fitting:
            return None
        return match_all(query, self._folder.term("scoped", word_count(len(self.wanted.words))))

    @property
    def _is_fitting(self) -> bool:
        """Whether the number of words tells anything: a single word that is known may begin a name."""
        words = self.wanted.words
        if len(words) != 1:
            return bool(words)
        return len(words[0].text) >= _FITTING_LETTERS and not self.held(words[0].complete())

    @property
    def strict(self) -> Query | None:
        """All matches of the tiers without a typo."""
        return _any_of(self.query(2), self.query(6))

    @property
    def all(self) -> Query | None:
        """All matches of all tiers."""
        return _any_of(self.strict, self.query(7), self.query(8))

    def _one_typo(self) -> Query | None:
        words = self.wanted.words
        unknown = [word for word in words if not self.held(word)]
        # Of two words that no name holds, one would stay a typo.
        wrong = [word for word in words[:_MOST_NEAR_WORDS] if unknown in ([], [word])]
        return _any_of(*(self._with_typo_in(word) for word in wrong if self.may_be_typo(word)))

    def _with_typo_in(self, wrong: Word) -> Query | None:
        near = self.near(search_text.letter_deletions(wrong.text))
        if near is None:
            return None
        return match_all(near, *(self.word("names", word) for word in self.wanted.words if word is not wrong))

    def _text(self) -> Query | None:
        *words, last = self.wanted.words
        found = (self.is_found("names", word) or self.is_found("text", word) for word in words)
        if not all(found):
            return None
        anywhere = [
            self.word(field, word)
            for field, word in (("names", last), ("text", last.complete()))
            if self.is_found(field, word)
        ]
        return (
            match_all(match_any(*anywhere), *(self.word("text", word) for word in words))
            if anywhere
            else None
        )

    def _words(self, field: str) -> Query | None:
        words = self.wanted.words
        if not all(self.is_found("names", word) for word in words):
            return None
        return match_all(*(self.word(field, word) for word in words))

    def is_found(self, field: str, word: Word) -> bool:
        """Whether a document may have the word in `names` or `text`, as far as beginnings are terms."""
        if word.is_unspaced or word.parts:
            return True
        known = self._found.get((field, word))
        if known is None:
            known = self._found[field, word] = bool(self._estimate(field, word))
        return known

    def word(self, field: str, word: Word) -> Query:
        """The word in a field; as the last one its beginning."""
        if word.parts:
            parts = match_all(*(self.word(field, part) for part in word.parts))
            return match_any(self.word(field, word._replace(parts=())), parts)
        if word.is_unspaced:
            return match_all(
                *(self._folder.term(field, pair) for pair in search_text.pair_letters(word.text))
            )
        return self._start(field, word.text) if word.is_last else self._folder.term(field, word.text)

    def held(self, word: Word) -> int:
        """How many names contain the word, as far as indexed beginnings tell; 1 for runs of scripts without
        spaces, which count by their pairs, and for handles.
        """
        if word.is_unspaced or word.parts:
            return 1
        field = "names_starts" if word.is_last else "names"
        return self._folder.count_term(field, word.text[:START_LETTERS])

    def may_be_typo(self, word: Word) -> bool:
        """Whether a word may be meant to be another one: few names have it."""
        return not word.is_unspaced and self.held(word.complete()) < _WELL_KNOWN

    def _estimate(self, field: str, word: Word) -> int:
        if word.is_last:
            return self._folder.estimate_term(f"{field}_starts", word.text[:START_LETTERS])
        return self._folder.estimate_term(field, word.text)

    def near(self, rests: Iterable[str]) -> Query | None:
        """Documents with a word or name that has one of these rests."""
        count, term = self._folder.estimate_term, self._folder.term
        found = [term("near", rest) for rest in rests if count("near", rest)]
        return match_any(*found) if found else None

    def _start(self, field: str, text: str) -> Query:
        if len(text) <= START_LETTERS:
            return self._folder.term(f"{field}_starts", text)
        return Query.fuzzy_term_query(self._folder.schema, field, text, distance=0, prefix=True)


def _any_of(*queries: Query | None) -> Query | None:
    """Documents that match one of these at least."""
    some = [query for query in queries if query is not None]
    return match_any(*some) if some else None
