"""What a search finds, in tiers, best first.

Exact name > name that begins so > all words in the name > all words among the names > all words, those of
the description too > name a typo apart > one word a typo apart.
"""

from functools import cached_property
from typing import Final

from tantivy import Query

from readapi.index_folder import IndexFolder, either, every
from readapi.query_words import QueryWords, Word
from schemas import search_text
from schemas.search_index import START_LETTERS, WHOLE

COUNT: Final = 7
_MOST_NEAR_WORDS = 6


class Tiers:
    """The queries of a search among the kinds of one mark: tiers 0 to 4 without, 5 and 6 with a typo."""

    def __init__(self, folder: IndexFolder, mark: str, wanted: QueryWords) -> None:
        self._folder, self._mark, self._wanted = folder, mark, wanted

    @cached_property
    def strict(self) -> dict[int, Query]:
        """The tiers without typos."""
        if not self._wanted.whole:
            return {}
        whole = {0: self._term("exact", self._wanted.whole), 1: self._whole_start}
        if not self._wanted.words:
            return whole
        return {**whole, 2: self._words("title"), 3: self._words("names"), 4: self._text}

    @cached_property
    def near(self) -> dict[int, Query]:
        """The tiers with one typo."""
        near: dict[int, Query] = {}
        if rests := search_text.rests(self._wanted.whole):
            near[5] = self._any("near", [WHOLE + rest for rest in rests])
        words = self._wanted.words
        if len(words) <= _MOST_NEAR_WORDS:
            one_wrong = [
                every(typo, *(self._word("names", other) for other in words if other is not word))
                for word in words
                if (typo := self._nearly(word)) is not None
            ]
            if one_wrong:
                near[6] = either(*one_wrong)
        return near

    @cached_property
    def all_strict(self) -> Query | None:
        """Everything that the tiers without typos find: those that are not listed are within these."""
        if not self._wanted.whole:
            return None
        return either(self._whole_start, self._text) if self._wanted.words else self._whole_start

    @cached_property
    def everything(self) -> Query | None:
        """Everything that any tier finds."""
        return self.all_strict and either(self.all_strict, *self.near.values())

    @cached_property
    def _whole_start(self) -> Query:
        return self._start("exact", self._wanted.whole)

    @cached_property
    def _text(self) -> Query:
        *words, last = self._wanted.words
        anywhere = either(self._word("names", last), self._word("text", last.complete()))
        return every(*(self._word("text", word) for word in words), anywhere)

    def _words(self, field: str) -> Query:
        return every(*(self._word(field, word) for word in self._wanted.words))

    def _word(self, field: str, word: Word) -> Query:
        """The word in a field; as the last one its beginning."""
        if word.parts:
            parts = every(*(self._word(field, part) for part in word.parts))
            return either(self._word(field, word._replace(parts=())), parts)
        if word.is_unspaced:
            return every(*(self._term(field, pair) for pair in search_text.pairs(word.text)))
        return self._start(field, word.text) if word.is_last else self._term(field, word.text)

    def _nearly(self, word: Word) -> Query | None:
        if word.is_unspaced:
            return None
        rests = search_text.rests(word.text)
        return self._any("near", rests) if rests else None

    def _start(self, field: str, text: str) -> Query:
        if len(text) <= START_LETTERS:
            return self._term(f"{field}_starts", text)
        return Query.fuzzy_term_query(self._folder.schema, field, self._mark + text, distance=0, prefix=True)

    def _term(self, field: str, text: str) -> Query:
        return self._folder.term(field, self._mark + text)

    def _any(self, field: str, texts: list[str]) -> Query:
        return either(*(self._term(field, text) for text in texts))
