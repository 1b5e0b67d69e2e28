"""The queries of a search's tiers, each made when first needed."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import ClassVar, Final

from tantivy import Query

from readapi.index.folder import IndexFolder, match_all, match_any
from readapi.index.search.query import QueryWords, Word
from readapi.index.search.tier import BETWEEN, INCLUDED_IN, NEAR, REFINED, WEIGHTS, WIDER, Tier
from readapi.index.search.word_queries import WordQueries, any_of
from schemas import search_text
from schemas.search_index import MOST_LETTERS, START_LETTERS, WHOLE, letter_count, split_size, word_count

_FITTING_LETTERS = 4  # of a query of one word, from which names of one word come before longer ones
_NEARLY_LETTERS = 4  # of a text, from which a name that lacks few comes before a popular one that lacks many
_MOST_NEAR_WORDS = 6
_MANY_WORDS = 6  # of a text, from which it is asked first whether any document has them
_LOOSE_START = 5  # letters of a last word, up to which a word a typo apart may be one by chance
_LEAST_START = 4  # letters of a text that may have a typo
_PLURALS: Final = ("s", "es")
_SINGULAR = 3  # letters of a last word, at least
_OF_WHOLE: Final = (
    Tier.WHOLE_NAME, Tier.NEARLY_WHOLE_NAME, Tier.START, Tier.NAME_WITH_TYPO, Tier.START_RUN_TOGETHER,
)  # fmt: skip


class Tiers(WordQueries):
    """The tiers of one search, each made when first needed; None: no document can match."""

    def __init__(self, folder: IndexFolder, wanted: QueryWords) -> None:
        super().__init__(folder, wanted)
        self._made: dict[int, Query | None] = {}
        self._parts: dict[str, Query | None] = {}
        self._letters = min(len(wanted.whole), MOST_LETTERS)

    def query(self, tier: int) -> Query | None:
        """The matches of one tier, including those of better tiers."""
        if tier not in self._made:
            self._made[tier] = self._make(tier)
        return self._made[tier]

    def widest(self, tiers: Iterable[int]) -> list[Query]:
        """What the first tiers find, without those whose matches another of them includes."""
        found = {tier: query for tier in tiers if (query := self.query(tier)) is not None}
        return [query for tier, query in found.items() if INCLUDED_IN.get(Tier(tier)) not in found]

    def scored(self, wanted: Iterable[int], terms: Sequence[Query], *, refined: bool) -> Query | None:
        """What these tiers find with all of these terms; `best_tiers` reads the scores.

        Unless `refined`, only the wider tiers, of which `refine` makes the others. Each tier is narrowed by
        itself, since all that tiers find together would be walked to find the few that have a term.
        """
        asked = (tier for tier in wanted if refined or tier not in REFINED)
        made = [(query, WEIGHTS[tier]) for tier in asked if (query := self.query(tier)) is not None]
        scored = [Query.const_score_query(match_all(query, *terms), weight) for query, weight in made]
        return Query.disjunction_max_query(scored) if len(scored) > 1 else next(iter(scored), None)

    def refine(self, tiers: Iterable[int], sizes: Iterable[int]) -> list[int] | None:
        """The tiers of matches, told by the sizes of their names from the wider tiers that they are in.

        None where sizes do not tell all of them.
        """
        matches = list(zip(tiers, sizes, strict=True))
        if any(self._may_be_better(*match) for match in matches if match[0] in BETWEEN):
            return None
        # Names are of few sizes.
        wider = {match for match in matches if match[0] in WIDER}
        refined = {(tier, size): self._refined(tier, *split_size(size)) for tier, size in wider}
        return [refined[match] if match[0] in WIDER else match[0] for match in matches]

    def _may_be_better(self, tier: int, size: int) -> bool:
        """Whether a match of one of the tiers `BETWEEN` fits, with a name of this size, a better one."""
        wider = BETWEEN[tier]
        return self.query(wider) is not None and self._refined(wider, *split_size(size)) < tier

    def _refined(self, tier: int, words: int, letters: int) -> int:
        """The tier of a match in one of the `WIDER` ones whose name has so many words and letters."""
        as_long, typed = words == len(self.wanted.words), self._letters
        is_nearly = typed >= _NEARLY_LETTERS and typed <= letters <= typed + _lacking(typed)
        if tier == Tier.WORD_WITH_TYPO:
            return Tier.TITLE_WITH_TYPO if as_long and is_nearly else tier
        if tier == Tier.WORDS_IN_TITLE:
            if not (as_long and self._is_fitting):
                return tier
            return Tier.SAME_WORDS if letters == typed and words > 1 else Tier.WORDS_OF_TITLE
        if is_nearly:
            return Tier.NEARLY_AS_LONG if as_long else Tier.NEARLY_WHOLE_NAME
        return Tier.START_AS_LONG if as_long and self._is_fitting else tier

    def _make(self, tier: int) -> Query | None:
        if not self.wanted.whole or (tier not in _OF_WHOLE and not self.wanted.words):
            return None
        made: Query | None = self._MAKERS[tier](self)
        return made

    def _whole_name(self) -> Query | None:
        return self._exact(self.wanted.whole)

    def _nearly_whole_name(self) -> Query | None:
        return self._lacking_few(self.query(Tier.START))

    def _nearly_as_long(self) -> Query | None:
        nearly = self.query(Tier.NEARLY_WHOLE_NAME)
        return None if nearly is None else match_all(nearly, self._as_long())

    def _start_as_long(self) -> Query | None:
        return self._fitting(self.query(Tier.START))

    def _words_of_title(self) -> Query | None:
        return self._fitting(self.query(Tier.WORDS_IN_TITLE))

    def _words_in_title(self) -> Query | None:
        return None if self.query(Tier.WORDS_IN_TEXT) is None else self.words("title")

    def _words_in_names(self) -> Query | None:
        return None if self.query(Tier.WORDS_IN_TEXT) is None else self.words("names")

    def _name_with_typo(self) -> Query | None:
        return self.near([WHOLE + rest for rest in search_text.whole_rests(self.wanted.whole)])

    def _word_with_typo(self) -> Query | None:
        return self._one_typo()

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
        words = self.query(Tier.WORDS_IN_TITLE)
        return None if words is None else match_all(start, words)

    def _lacking_few(self, query: Query | None) -> Query | None:
        """Those of these documents whose name has few letters more than were typed."""
        typed = self._letters
        if query is None or typed < _NEARLY_LETTERS:
            return None
        lengths = range(typed, min(typed + _lacking(typed), MOST_LETTERS) + 1)
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
        same = self.query(Tier.WORDS_OF_TITLE) if len(self.wanted.words) > 1 else None
        return None if same is None else match_all(same, self._scoped(letter_count(self._letters)))

    def _fitting(self, query: Query | None) -> Query | None:
        """Those of these documents whose name has as many words."""
        return match_all(query, self._as_long()) if query is not None and self._is_fitting else None

    def _as_long(self) -> Query:
        return self._scoped(word_count(len(self.wanted.words)))

    @cached_property
    def _is_fitting(self) -> bool:
        """Whether the number of words tells anything: a single word that is known may begin a name."""
        words = self.wanted.words
        if len(words) != 1:
            return bool(words)
        return len(words[0].text) >= _FITTING_LETTERS and not self.held(words[0].complete())

    @cached_property
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

    def _one_typo(self) -> Query | None:
        """Documents that have all words in their names, one of them with a typo."""
        words = self.wanted.words
        unknown = [word for word in words if not self.held(word)]
        # Of two words that no name holds, one would stay a typo.
        wrong = [
            word for word in words[:_MOST_NEAR_WORDS] if unknown in ([], [word]) and self.may_be_typo(word)
        ]
        if not wrong or (len(words) >= _MANY_WORDS and not self._folder.count(self._either_half())):
            return None
        return any_of(*map(self._with_typo_in, wrong))

    def _either_half(self) -> Query:
        """Documents whose names have the first half of the words or the second, as all with one typo do."""
        words = [self.word("names", word) for word in self.wanted.words]
        middle = len(words) // 2
        return match_any(match_all(*words[:middle]), match_all(*words[middle:]))

    def _with_typo_in(self, wrong: Word) -> Query | None:
        near = self.near_word(wrong)
        if near is None:
            return None
        return match_all(near, *(self.word("names", word) for word in self.wanted.words if word is not wrong))

    def _title_with_typo(self) -> Query | None:
        """Names of as many words and about as many letters, where a word has a typo."""
        mistyped = self._lacking_few(self.query(Tier.WORD_WITH_TYPO))
        return None if mistyped is None else match_all(mistyped, self._as_long())

    def _start_with_typo(self) -> Query | None:
        return self._lacking_few(self._mistyped_start())

    def _mistyped_start(self) -> Query | None:
        """Names that begin with the text but for a typo, if its last word may be unfinished."""
        whole, words = self.wanted.whole, self.wanted.words
        last = words[-1]
        if not last.is_last or last.is_unspaced or last.parts or self.held(last):
            return None
        if not _LEAST_START <= len(whole) <= START_LETTERS or len(last.text) < _LEAST_START:
            return None
        if len(last.text) > _LOOSE_START and self.near_word(last) is not None:
            return None
        return Query.fuzzy_term_query(self._folder.schema, "exact_starts", whole, distance=1)

    def _words_in_text(self) -> Query | None:
        *words, last = self.wanted.words
        found = (self.is_found("names", word) or self.is_found("text", word) for word in words)
        if not all(found):
            return None
        anywhere = [
            self.word(field, word)
            for field, word in (("names", last), ("text", last.complete()))
            if self.is_found(field, word)
        ]
        if not anywhere:
            return None
        query = match_all(match_any(*anywhere), *(self.word("text", word) for word in words))
        # Documents with many words are rare, and several tiers would look all of them up.
        return query if len(words) < _MANY_WORDS or self._folder.count(query) else None

    # In the order of the tiers.
    _MAKERS: ClassVar = (
        _next_word,
        _whole_name,
        _nearly_as_long,
        _nearly_whole_name,
        _other_number,
        _start_as_long,
        _same_words,
        _named_start,
        _words_of_title,
        _words_in_title,
        _words_in_names,
        _words_in_text,
        _name_with_typo,
        _title_with_typo,
        _start_with_typo,
        _whole_start,
        _word_with_typo,
    )


def _lacking(typed: int) -> int:
    """How many letters a name may lack of which most was typed."""
    return max(3, typed // 3 + 2)
