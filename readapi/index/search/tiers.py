"""The tiers of search matches, best first: what is nearest to the text as it was typed.

A name that goes on with another word, if the text ends in a space > the name itself > names that lack few
letters > the name in the other number > names of as many words that begin so > the words of the name in
another order > names that begin so > all words in the name > among the names > in any text. With a typo: the
name > its words or its beginning > the beginning of a name run together > one word.
Below them comes the relaxed tier, in steps (`readapi.index.search.relaxed`).
"""

import math
from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from tantivy import Query

from readapi.index.folder import IndexFolder, match_all, match_any
from readapi.index.search.query import QueryWords, Word
from readapi.index.search.word_queries import WordQueries, any_of
from schemas import search_text
from schemas.search_index import START_LETTERS, WHOLE, letter_count, word_count


class Tier(IntEnum):
    """The tiers, which `schemas.api.search.ResultTier` names."""

    NEXT_WORD = 0
    WHOLE_NAME = 1
    NEARLY_AS_LONG = 2
    NEARLY_WHOLE_NAME = 3
    OTHER_NUMBER = 4
    START_AS_LONG = 5
    SAME_WORDS = 6
    START = 7
    WORDS_OF_TITLE = 8
    WORDS_IN_TITLE = 9
    WORDS_IN_NAMES = 10
    WORDS_IN_TEXT = 11
    NAME_WITH_TYPO = 12
    TITLE_WITH_TYPO = 13
    START_RUN_TOGETHER = 14
    WORD_WITH_TYPO = 15


COUNT: Final = len(Tier)
STRICT: Final = range(Tier.NAME_WITH_TYPO)
NEAR: Final = range(Tier.NAME_WITH_TYPO, COUNT)
ALL: Final = range(COUNT)
_FITTING_LETTERS = 4  # of a query of one word, from which names of one word come before longer ones
_NEARLY_LETTERS = 4  # of a text, from which a name that lacks few comes before a popular one that lacks many
_MOST_NEAR_WORDS = 6
_LOOSE_START = 5  # letters of a last word, up to which a word a typo apart may be one by chance
_LEAST_START = 4  # letters of a text that may have a typo
_PLURALS: Final = ("s", "es")
_SINGULAR = 3  # letters of a last word, at least
_OF_WHOLE: Final = (
    Tier.WHOLE_NAME, Tier.NEARLY_WHOLE_NAME, Tier.START, Tier.NAME_WITH_TYPO, Tier.START_RUN_TOGETHER,
)  # fmt: skip
# A match scores the weight of its best tier, times log2(2 + its popularity), which is between 1 and 64.
_BITS: Final = 7
_WEIGHTS: Final = [float(1 << _BITS * tier) for tier in reversed(ALL)]


def best_tier(score: float) -> int:
    """The best tier of a match, from its score in a search that is weighted by popularity."""
    return COUNT - 1 - (math.frexp(score)[1] - 1) // _BITS


class Tiers(WordQueries):
    """The tiers of one search, each made when first needed; None: no document can match."""

    def __init__(self, folder: IndexFolder, wanted: QueryWords) -> None:
        super().__init__(folder, wanted)
        self._made: dict[int, Query | None] = {}
        self._parts: dict[str, Query | None] = {}
        self._near: dict[str, Query | None] = {}

    def query(self, tier: int) -> Query | None:
        """The matches of one tier, including those of better tiers."""
        if tier not in self._made:
            self._made[tier] = self._make(tier)
        return self._made[tier]

    def scored(self, wanted: Iterable[int]) -> Query | None:
        """What these tiers find; `best_tier` reads the scores."""
        made = [(query, _WEIGHTS[tier]) for tier in wanted if (query := self.query(tier)) is not None]
        scored = [Query.const_score_query(query, weight) for query, weight in made]
        return Query.disjunction_max_query(scored) if len(scored) > 1 else next(iter(scored), None)

    def _make(self, tier: int) -> Query | None:
        if not self.wanted.whole or (tier not in _OF_WHOLE and not self.wanted.words):
            return None
        match tier:
            case Tier.NEXT_WORD:
                return self._next_word()
            case Tier.WHOLE_NAME:
                return self._exact(self.wanted.whole)
            case Tier.NEARLY_WHOLE_NAME:
                return self._lacking_few(self.query(Tier.START))
            case Tier.NEARLY_AS_LONG:
                nearly = self.query(Tier.NEARLY_WHOLE_NAME)
                return None if nearly is None else match_all(nearly, self._as_long())
            case Tier.OTHER_NUMBER:
                return self._other_number()
            case Tier.START_AS_LONG:
                return self._fitting(self.query(Tier.START))
            case Tier.SAME_WORDS:
                return self._same_words()
            case Tier.START:
                return self._named_start()
            case Tier.WORDS_OF_TITLE:
                return self._fitting(self.query(Tier.WORDS_IN_TITLE))
            case Tier.WORDS_IN_TITLE:
                return self.words("title")
            case Tier.WORDS_IN_NAMES:
                return self.words("names")
            case Tier.WORDS_IN_TEXT:
                return self._text()
            case Tier.NAME_WITH_TYPO:
                return self.near([WHOLE + rest for rest in search_text.whole_rests(self.wanted.whole)])
            case Tier.TITLE_WITH_TYPO:
                return self._title_with_typo()
            case Tier.START_RUN_TOGETHER:
                return self._whole_start()
            case _:
                return self._one_typo("names")

    def _other_number(self) -> Query | None:
        """Names that are the text without its plural ending."""
        whole, last = self.wanted.whole, self.wanted.words[-1].text
        endings = [end for end in _PLURALS if last.endswith(end) and len(last) - len(end) >= _SINGULAR]
        return any_of(*(self._exact(whole[: -len(end)]) for end in endings))

    def _whole_start(self) -> Query | None:
        """Names that begin with the text, wherever their words end."""
        if "whole_start" not in self._parts:
            has_start = self._folder.estimate_term("exact_starts", self.wanted.whole[:START_LETTERS])
            self._parts["whole_start"] = self._start("exact", self.wanted.whole) if has_start else None
        return self._parts["whole_start"]

    def _named_start(self) -> Query | None:
        """Names that begin with these words."""
        start = self._whole_start()
        if start is None or not self.wanted.words:
            return start
        words = self.words("title")
        return None if words is None else match_all(start, words)

    def _lacking_few(self, query: Query | None) -> Query | None:
        """Those of these documents that have an own name with few letters more than were typed."""
        typed = len(self.wanted.whole)
        if query is None or typed < _NEARLY_LETTERS:
            return None
        lengths = range(typed, typed + _lacking(typed) + 1)
        return match_all(query, match_any(*(self._scoped(letter_count(length)) for length in lengths)))

    def _next_word(self) -> Query | None:
        """Names that lack a short word, if the text ends where a word does."""
        start = self._whole_start() if self.wanted.goes_on else None
        if start is None or not self.wanted.words:
            return None
        complete = match_all(*(self.word("title", word.complete()) for word in self.wanted.words))
        longer = self._scoped(word_count(len(self.wanted.words) + 1))
        return self._lacking_few(match_all(start, complete, longer))

    def _same_words(self) -> Query | None:
        """Names of exactly these words."""
        words = self.wanted.words
        if len(words) < 2 or self.query(Tier.WORDS_OF_TITLE) is None:
            return None
        complete = [*words[:-1], words[-1].complete()]
        return match_all(*(self.word("title", word) for word in complete), self._as_long())

    def _fitting(self, query: Query | None) -> Query | None:
        """Those of these documents that have an own name of as many words."""
        return match_all(query, self._as_long()) if query is not None and self._is_fitting else None

    def _as_long(self) -> Query:
        return self._scoped(word_count(len(self.wanted.words)))

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
        wider = self.query(Tier.WORDS_IN_TEXT)
        return any_of(
            self.query(Tier.WHOLE_NAME), self.query(Tier.OTHER_NUMBER), self.query(Tier.START), wider
        )

    @property
    def all(self) -> Query | None:
        """All matches of all tiers."""
        return any_of(self.strict, *(self.query(tier) for tier in NEAR))

    def _one_typo(self, field: str) -> Query | None:
        """Documents that have all words in a field, one of them with a typo."""
        words = self.wanted.words
        unknown = [word for word in words if not self.held(word)]
        # Of two words that no name holds, one would stay a typo.
        wrong = [word for word in words[:_MOST_NEAR_WORDS] if unknown in ([], [word])]
        return any_of(*(self._with_typo_in(word, field) for word in wrong if self.may_be_typo(word)))

    def _with_typo_in(self, wrong: Word, field: str) -> Query | None:
        near = self._near_word(wrong)
        if near is None:
            return None
        return match_all(near, *(self.word(field, word) for word in self.wanted.words if word is not wrong))

    def _title_with_typo(self) -> Query | None:
        """Names of as many words, one with a typo, or that lack few letters and begin with a typo."""
        mistyped = self._one_typo("title")
        if len(self.wanted.words) == 1:
            mistyped = self._lacking_few(mistyped)
        fitting = None if mistyped is None else match_all(mistyped, self._as_long())
        return any_of(fitting, self._lacking_few(self._mistyped_start()))

    def _mistyped_start(self) -> Query | None:
        """Names that begin with the text but for a typo, if its last word may be unfinished."""
        whole, words = self.wanted.whole, self.wanted.words
        last = words[-1]
        if not last.is_last or last.is_unspaced or last.parts or self.held(last):
            return None
        if not _LEAST_START <= len(whole) <= START_LETTERS or len(last.text) < _LEAST_START:
            return None
        if len(last.text) > _LOOSE_START and self._near_word(last) is not None:
            return None
        return Query.fuzzy_term_query(self._folder.schema, "exact_starts", whole, distance=1)

    def _near_word(self, word: Word) -> Query | None:
        """Documents with a word that is a typo apart."""
        if word.text not in self._near:
            self._near[word.text] = self.near(search_text.letter_deletions(word.text))
        return self._near[word.text]

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


def _lacking(typed: int) -> int:
    """How many letters a name may lack of which most was typed."""
    return max(3, typed // 3 + 2)
