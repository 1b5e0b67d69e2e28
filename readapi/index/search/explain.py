"""Why results are among those of a search: their tier, the fields that hold the words, typos, popularity."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, get_args

import orjson
from tantivy import Query

from readapi.index.folder import IndexFolder, ignore_score, match_all
from readapi.index.search import tier as tiers
from readapi.index.search.hit import Hit
from readapi.index.search.query import Word
from readapi.index.search.tier import Tier
from readapi.index.search.tiers import Tiers
from schemas import search_text
from schemas.api.search import ResultTier
from schemas.search_index import COUNT_SHIFT, Scope, scoped_word

TIERS: Final[tuple[ResultTier, ...]] = get_args(ResultTier)
_OF_NAMES: Final = range(Tier.SAME_WORDS)
_OF_WHOLE_NAMES: Final = (Tier.START, Tier.NAME_WITH_TYPO, Tier.START_RUN_TOGETHER)
_MOST_WORDS: Final = 8
_SCOPES: Final[tuple[Scope, ...]] = ("artist", "album", "tag")


class _Way(NamedTuple):
    field: str
    typos: int
    query: Query | None


class Explainer:
    """Explains some results of one search: about ten look-ups for each word, all among these results."""

    def __init__(self, folder: IndexFolder, wanted: Tiers, hits: Sequence[Hit]) -> None:
        self._folder, self._wanted = folder, wanted
        self._fields: dict[int, set[str]] = defaultdict(set)
        self._typos: dict[int, int] = defaultdict(int)
        if hits:
            self._these = ignore_score(folder.any_term("id", [-hit.minus_id for hit in hits]))
            for word in wanted.wanted.words[:_MOST_WORDS]:
                self._look_for(word, len(hits))

    def of(self, hit: Hit, tier: int, popular: int) -> bytes:
        """The explanation as JSON. `popular` is the stored key of the result."""
        fields, typos = self._fields[hit.minus_id], self._typos[hit.minus_id]
        if tier in _OF_NAMES or tier in _OF_WHOLE_NAMES:
            fields, typos = fields | {"title"}, int(tier == Tier.NAME_WITH_TYPO)
        return orjson.dumps(
            {
                "tier": TIERS[min(tier, tiers.COUNT)],
                "fields": sorted(fields),
                "typos": typos,
                "popularity": popular >> COUNT_SHIFT,
            }
        )

    def _look_for(self, word: Word, most: int) -> None:
        """Note where each result has the word, and with how many typos where it has it in no other way."""
        explained: set[int] = set()
        typos: dict[int, int] = {}
        for way in self._ways(word):
            found = self._among_these(way.query, most) if way.query is not None else set()
            if way.typos:
                typos |= dict.fromkeys(found - explained, way.typos)
            # A description is told where no name has the word, and so is a word that has a typo.
            told = found - explained if way.typos or way.field == "description" else found
            for minus_id in told:
                self._fields[minus_id].add(way.field)
            explained |= found
        for minus_id, count in typos.items():
            self._typos[minus_id] += count

    def _ways(self, word: Word) -> Iterator[_Way]:
        """The ways in which a word may be found, those without a typo first."""
        yield _Way("title", 0, self._wanted.word("title", word))
        for scope in _SCOPES:
            yield _Way(scope, 0, self._scoped(scope, word))
        yield _Way("description", 0, self._wanted.word("text", word.complete()))
        if word.is_unspaced:
            return
        if len(word.text) >= search_text.END_LETTERS:
            yield _Way("title", 0, self._beginning("ends", word.text))
        for typos, rests in enumerate((search_text.letter_deletions(word.text), self._far(word.text)), 1):
            if rests:
                yield _Way("name", typos, self._wanted.near(rests))
        if word.is_last:
            yield _Way("name", 1, Query.fuzzy_term_query(self._folder.schema, "names_starts", word.text))

    def _far(self, text: str) -> list[str]:
        return search_text.two_deletions(text) if len(text) in search_text.FAR_LETTERS else []

    def _scoped(self, scope: Scope, word: Word) -> Query:
        if word.is_last and not word.is_unspaced:
            return self._beginning("scoped", scoped_word(scope, word.text))
        texts = search_text.pair_letters(word.text) if word.is_unspaced else [word.text]
        return match_all(*(self._folder.term("scoped", scoped_word(scope, text)) for text in texts))

    def _beginning(self, field: str, text: str) -> Query:
        return Query.fuzzy_term_query(self._folder.schema, field, text, distance=0, prefix=True)

    def _among_these(self, query: Query, most: int) -> set[int]:
        """Those of the results that a query finds, by `minus_id`."""
        hits, _ = self._folder.search(match_all(self._these, ignore_score(query)), most)
        return {-number for number in self._folder.numbers("id", [address for _, address in hits])}


def popular_keys(folder: IndexFolder, hits: Sequence[Hit]) -> Mapping[int, int]:
    """The stored popularity of each result, by `minus_id`."""
    found = folder.numbers("popular", [hit.address for hit in hits])
    return {hit.minus_id: key for hit, key in zip(hits, found, strict=True)}
