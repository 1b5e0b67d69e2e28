"""What a search's operators ask for, as queries of the index."""

from collections.abc import Iterator, Sequence

from tantivy import Query

from readapi.index.folder import IndexFolder, match_all, match_any
from readapi.index.search.query import Condition, Word
from schemas import search_text
from schemas.ids import normalise_tag
from schemas.search_index import scoped_word


def condition_query(folder: IndexFolder, condition: Condition) -> Query:
    """The documents that meet a condition."""
    scope = condition.scope
    if scope == "tag":
        return folder.term("tag", normalise_tag(condition.text))
    if scope is not None:
        terms = (scoped_word(scope, term) for term in _terms(condition.words))
        words = match_all(*(folder.term("scoped", term) for term in terms))
        return match_all(words, _phrase(folder, condition)) if condition.is_phrase else words
    if condition.is_phrase:
        return _phrase(folder, condition)
    return match_all(*(folder.term("text", term) for term in _terms(condition.words)))


def _phrase(folder: IndexFolder, condition: Condition) -> Query:
    """Documents with a name that has these words side by side; a single word is found in any text."""
    words = condition.words
    if len(words) == 1 and not words[0].is_unspaced:
        return folder.term("text", words[0].text)
    return match_all(*_runs(folder, words))


def _runs(folder: IndexFolder, words: Sequence[Word]) -> Iterator[Query]:
    """Words side by side; letters of a script without spaces, whose pairs tell which are side by side."""
    together: list[str] = []
    for word in [*words, Word("", is_unspaced=True)]:
        if not word.is_unspaced:
            together.append(word.text)
            continue
        if len(together) == 1:
            yield folder.term("names", together[0])
        elif together:
            yield Query.phrase_query(folder.schema, "names", [*together])
        together = []
        if word.text:
            yield match_all(*(folder.term("names", pair) for pair in search_text.pair_letters(word.text)))


def _terms(words: Sequence[Word]) -> Iterator[str]:
    for word in words:
        if word.is_unspaced:
            yield from search_text.pair_letters(word.text)
        else:
            yield word.text


def any_condition(folder: IndexFolder, conditions: Sequence[Condition]) -> Query | None:
    """The documents that meet one of these; None: there are no conditions."""
    queries = [condition_query(folder, condition) for condition in conditions]
    return match_any(*queries) if queries else None
