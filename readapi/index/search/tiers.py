"""The tiers of search matches, best first.

Exact name > name of as many words that begins so > name that begins so > all words of the name > all words in
the name > all words among the names > all words, those of the description too > name a typo apart > one word
a typo apart. Below them comes the relaxed tier, in steps (`readapi.index.search.relaxed`).
"""

from typing import Final

from tantivy import Occur, Query

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
# A score is the sum of those of the tiers that find something, a bit for each: the highest tells the best.
_SCORES: Final = [float(1 << tier) for tier in reversed(ALL)]
BEST: Final = {float(score): COUNT - score.bit_length() for score in range(1, 1 << COUNT)}


class Tiers:
    """The queries of a search, each made when first needed."""

    def __init__(self, folder: IndexFolder, wanted: QueryWords) -> None:
        self._folder, self.wanted = folder, wanted
        self._made: dict[int, Query] = {}

    def query(self, tier: int) -> Query:
        """The matches of one tier, including those of better tiers."""
        if tier not in self._made:
            self._made[tier] = self._make(tier)
        return self._made[tier]

    def scored(self, wanted: range) -> Query:
        """What these tiers find, each with a score that is in BEST."""
        asked = (tier for tier in wanted if tier not in _FITTING or self._is_fitting)
        return match_any(*(Query.const_score_query(self.query(tier), _SCORES[tier]) for tier in asked))

    def is_broad(self, matches: int) -> bool:
        """Whether a query of one word matches more names than about this many."""
        words = self.wanted.words
        return len(words) == 1 and self.held(words[0]) > matches

    def _make(self, tier: int) -> Query:
        if not self.wanted.whole or (tier in _OF_WORDS and not self.wanted.words):
            return Query.empty_query()
        match tier:
            case 0:
                return self._folder.term("exact", self.wanted.whole)
            case 1 | 3:
                return self._fitting(self.query(tier + 1))
            case 2:
                return self._start("exact", self.wanted.whole)
            case 4:
                return self._words("title")
            case 5:
                return self._words("names")
            case 6:
                return self._text()
            case 7:
                return self.rests([WHOLE + rest for rest in search_text.whole_rests(self.wanted.whole)])
            case _:
                return self._one_typo()

    def _fitting(self, query: Query) -> Query:
        """Those of these documents that have an own name of as many words."""
        if not self._is_fitting:
            return Query.empty_query()
        return match_all(query, self._folder.term("scoped", word_count(len(self.wanted.words))))

    @property
    def _is_fitting(self) -> bool:
        """Whether the number of words tells anything: a single word that is known may begin a name."""
        words = self.wanted.words
        if len(words) != 1:
            return bool(words)
        return len(words[0].text) >= _FITTING_LETTERS and not self.held(words[0].complete())

    @property
    def strict(self) -> Query:
        """All matches of the tiers without a typo."""
        return match_any(self.query(2), self.query(6)) if self.wanted.words else self.query(2)

    @property
    def near(self) -> Query:
        """All matches of the tiers with a typo."""
        return match_any(self.query(7), self.query(8))

    def _one_typo(self) -> Query:
        words = self.wanted.words
        unknown = [word for word in words if not self.held(word)]
        # Of two words that no name holds, one would stay a typo.
        wrong = [word for word in words[:_MOST_NEAR_WORDS] if unknown in ([], [word])]
        found = [self._with_typo_in(word) for word in wrong if self.may_be_typo(word)]
        return match_any(*found)

    def _with_typo_in(self, wrong: Word) -> Query:
        right = (self.word("names", word) for word in self.wanted.words if word is not wrong)
        return match_all(self.rests(search_text.letter_deletions(wrong.text)), *right)

    def _text(self) -> Query:
        *words, last = self.wanted.words
        anywhere = match_any(self.word("names", last), self.word("text", last.complete()))
        return match_all(*(self.word("text", word) for word in words), anywhere)

    def _words(self, field: str) -> Query:
        return match_all(*(self.word(field, word) for word in self.wanted.words))

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
        """How many names contain the word, as far as indexed beginnings tell; 1 without an index, and for
        runs of scripts without spaces, which count by their pairs.
        """
        if self._folder.searcher is None or word.is_unspaced or word.parts:
            return 1
        field = "names_starts" if word.is_last else "names"
        return self._folder.count_term(field, word.text[:START_LETTERS])

    def may_be_typo(self, word: Word) -> bool:
        """Whether a word may be meant to be another one: few names have it."""
        return not word.is_unspaced and self.held(word.complete()) < _WELL_KNOWN

    def _start(self, field: str, text: str) -> Query:
        if len(text) <= START_LETTERS:
            return self._folder.term(f"{field}_starts", text)
        return Query.fuzzy_term_query(self._folder.schema, field, text, distance=0, prefix=True)

    def rests(self, rests: list[str]) -> Query:
        """Documents with a word or name that has one of these rests."""
        schema, term, should = self._folder.schema, Query.term_query, Occur.Should
        return Query.boolean_query([(should, term(schema, "near", rest, "basic")) for rest in rests])
