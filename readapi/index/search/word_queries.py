"""The words of a search as queries of the index: whole words, beginnings, words that are a typo apart."""

import math
from collections.abc import Iterable
from typing import Final

from tantivy import Query

from readapi.index.folder import IndexFolder, match_all, match_any
from readapi.index.search.query import QueryWords, Word
from schemas import search_text
from schemas.search_index import START_LETTERS

WELL_KNOWN: Final = 100  # names; a word that so many have is not a typo


class WordQueries:
    """The words of one search.

    To ask whether the index has a term costs less than a query for it: what is missing mostly is left out.
    """

    def __init__(self, folder: IndexFolder, wanted: QueryWords) -> None:
        self._folder, self.wanted = folder, wanted
        self._estimates: dict[tuple[str, Word], int] = {}
        self._held: dict[Word, int] = {}
        self._near: dict[str, Query | None] = {}

    def is_broad(self, names: int) -> bool:
        """Whether the query is one word that more names than about these have."""
        words = self.wanted.words
        if len(words) != 1 or words[0].is_unspaced or words[0].parts:
            return False
        return self._estimate("names", words[0]) > names

    def expected(self, terms: Iterable[tuple[str, str]]) -> float:
        """How many documents have all words and these terms, each a field and its value.

        That is, if none has to do with another; 0 if it is not known.
        """
        searcher, words = self._folder.searcher, self.wanted.words
        if searcher is None or not words or any(word.is_unspaced or word.parts for word in words):
            return 0
        documents = max(searcher.num_docs, 1)
        holding = [
            *(max(self._estimate("names", word), self._estimate("text", word.complete())) for word in words),
            *(self._folder.estimate_term(*term) for term in terms),
        ]
        return documents * math.prod(count / documents for count in holding)

    def words(self, field: str) -> Query | None:
        """Documents that have all words in `title` or `names`; None if there can be none."""
        words = self.wanted.words
        if not all(self.is_found("names", word) for word in words):
            return None
        return match_all(*(self.word(field, word) for word in words))

    def _exact(self, name: str) -> Query | None:
        return self._folder.term("exact", name) if self._folder.estimate_term("exact", name) else None

    def _scoped(self, term: str) -> Query:
        return self._folder.term("scoped", term)

    def is_found(self, field: str, word: Word) -> bool:
        """Whether a document may have the word in `names` or `text`, as far as beginnings are terms."""
        return word.is_unspaced or bool(word.parts) or self._estimate(field, word) > 0

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
        known = self._held.get(word)
        if known is None:
            known = self._held[word] = self._count_held(word)
        return known

    def _count_held(self, word: Word) -> int:
        if word.is_unspaced or word.parts:
            return 1
        field = "names_starts" if word.is_last else "names"
        return self._folder.count_term(field, word.text[:START_LETTERS])

    def may_be_typo(self, word: Word) -> bool:
        """Whether a word may be meant to be another one: few names have it."""
        return not word.is_unspaced and self.held(word.complete()) < WELL_KNOWN

    def _estimate(self, field: str, word: Word) -> int:
        """How many documents have the word in a field, as far as beginnings are terms."""
        known = self._estimates.get((field, word))
        if known is None:
            if word.is_last:
                known = self._folder.estimate_term(f"{field}_starts", word.text[:START_LETTERS])
            else:
                known = self._folder.estimate_term(field, word.text)
            self._estimates[field, word] = known
        return known

    def near_word(self, word: Word) -> Query | None:
        """Documents with a word that is a typo apart."""
        if word.text not in self._near:
            self._near[word.text] = self.near(search_text.letter_deletions(word.text))
        return self._near[word.text]

    def near(self, rests: Iterable[str]) -> Query | None:
        """Documents with a word or name that has one of these rests."""
        count, term = self._folder.estimate_term, self._folder.term
        found = [term("near", rest) for rest in rests if count("near", rest)]
        return match_any(*found) if found else None

    def _start(self, field: str, text: str) -> Query:
        if len(text) <= START_LETTERS:
            return self._folder.term(f"{field}_starts", text)
        return Query.fuzzy_term_query(self._folder.schema, field, text, distance=0, prefix=True)


def any_of(*queries: Query | None) -> Query | None:
    """Documents that match one of these at least."""
    some = [query for query in queries if query is not None]
    return match_any(*some) if some else None
