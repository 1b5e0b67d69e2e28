"""What a search finds, in tiers, best first.

Exact name > name that begins so > all words in the name > all words among the names > all words, those of
the description too > name a typo apart > one word a typo apart.
"""

from functools import cached_property
from typing import Final

from tantivy import Occur, Query

from readapi.index_folder import IndexFolder, either, every
from readapi.query_words import QueryWords, Word
from schemas import search_text
from schemas.search_index import START_LETTERS, WHOLE

COUNT: Final = 7
_MOST_NEAR_WORDS = 6
_WELL_KNOWN = 500


class Tiers:
    """The queries of a search: tiers 0 to 4 without, 5 and 6 with a typo."""

    def __init__(self, folder: IndexFolder, wanted: QueryWords) -> None:
        self._folder, self._wanted = folder, wanted

    @cached_property
    def strict(self) -> dict[int, Query]:
        """The tiers without typos."""
        if not self._wanted.whole:
            return {}
        whole = {0: self._folder.term("exact", self._wanted.whole), 1: self._whole_start}
        if not self._wanted.words:
            return whole
        return {**whole, 2: self._words("title"), 3: self._words("names"), 4: self._text}

    @cached_property
    def near(self) -> dict[int, Query]:
        """The tiers with one typo."""
        near: dict[int, Query] = {}
        if rests := search_text.rests(self._wanted.whole):
            near[5] = self._any([WHOLE + rest for rest in rests])
        words = self._wanted.words
        one_wrong = [
            every(self._any(rests), *(self._word("names", other) for other in words if other is not word))
            for word in words[:_MOST_NEAR_WORDS]
            if not self._is_well_known(word) and (rests := search_text.rests(word.text))
        ]
        return near | {6: either(*one_wrong)} if one_wrong else near

    def are_many(self, number: int) -> bool:
        """Whether at least so many matches are certain; asking costs next to nothing."""
        searcher, words = self._folder.searcher, self._wanted.words
        if searcher is None:
            return False
        many = searcher.doc_freq("exact_starts", self._wanted.whole)
        if len(words) == 1 and not words[0].is_unspaced:
            many = max(many, searcher.doc_freq("names_starts", words[0].text))
        return many >= number

    def all_of(self, *, with_typos: bool) -> Query:
        """Everything that the tiers find."""
        if not self.strict:
            return Query.empty_query()
        strict = [self._whole_start, self._text] if self._wanted.words else [self._whole_start]
        return either(*strict, *(self.near.values() if with_typos else ()))

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
            return every(*(self._folder.term(field, pair) for pair in search_text.pairs(word.text)))
        return self._start(field, word.text) if word.is_last else self._folder.term(field, word.text)

    def _is_well_known(self, word: Word) -> bool:
        """Whether so many names hold the word that it is hardly a typo; unspaced runs are no words."""
        searcher = self._folder.searcher
        held = searcher.doc_freq("names", word.text) if searcher else 0
        return word.is_unspaced or held > _WELL_KNOWN

    def _start(self, field: str, text: str) -> Query:
        if len(text) <= START_LETTERS:
            return self._folder.term(f"{field}_starts", text)
        return Query.fuzzy_term_query(self._folder.schema, field, text, distance=0, prefix=True)

    def _any(self, rests: list[str]) -> Query:
        schema, term, should = self._folder.schema, Query.term_query, Occur.Should
        return Query.boolean_query([(should, term(schema, "near", rest, "basic")) for rest in rests])
