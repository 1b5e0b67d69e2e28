"""The tiers of search matches, best first: what is nearest to the text as it was typed.

A name that goes on with another word, if the text ends in a space > the name itself > names that lack few
letters > the name in the other number > names of as many words that begin so > the words of the name in
another order > names that begin so > all words in the name > among the names > in any text. With a typo: the
name > its words or its beginning > the beginning of a name run together > one word.
Below them comes the relaxed tier, in steps (`readapi.index.search.relaxed`).
"""

import math
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Final


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
    START_WITH_TYPO = 14
    START_RUN_TOGETHER = 15
    WORD_WITH_TYPO = 16


COUNT: Final = len(Tier)
STRICT: Final = range(Tier.NAME_WITH_TYPO)
NEAR: Final = range(Tier.NAME_WITH_TYPO, COUNT)
ALL: Final = range(COUNT)
# Those that the size of a name tells from wider ones.
REFINED: Final = frozenset(
    (Tier.NEARLY_AS_LONG, Tier.NEARLY_WHOLE_NAME, Tier.START_AS_LONG, Tier.SAME_WORDS, Tier.WORDS_OF_TITLE,
     Tier.TITLE_WITH_TYPO)
)  # fmt: skip
WIDER: Final = frozenset((Tier.START, Tier.WORDS_IN_TITLE, Tier.WORD_WITH_TYPO))
# Tiers between one of `WIDER`, which is named here, and a better one that sizes tell from it.
BETWEEN: Final[Mapping[int, Tier]] = {
    Tier.OTHER_NUMBER: Tier.START,
    Tier.START_WITH_TYPO: Tier.WORD_WITH_TYPO,
    Tier.START_RUN_TOGETHER: Tier.WORD_WITH_TYPO,
}
# A list of the best matches that ends in one of these has all of what sizes could put before its end.
SETTLED: Final = range(Tier.WORDS_IN_NAMES, Tier.TITLE_WITH_TYPO)
# The tier whose matches include all of another one's.
INCLUDED_IN: Final = {
    Tier.NEXT_WORD: Tier.START,
    Tier.NEARLY_AS_LONG: Tier.NEARLY_WHOLE_NAME,
    Tier.NEARLY_WHOLE_NAME: Tier.START,
    Tier.START_AS_LONG: Tier.START,
    Tier.SAME_WORDS: Tier.WORDS_OF_TITLE,
    Tier.START: Tier.WORDS_IN_TITLE,
    Tier.WORDS_OF_TITLE: Tier.WORDS_IN_TITLE,
    Tier.WORDS_IN_TITLE: Tier.WORDS_IN_NAMES,
    Tier.WORDS_IN_NAMES: Tier.WORDS_IN_TEXT,
    Tier.TITLE_WITH_TYPO: Tier.WORD_WITH_TYPO,
}
# A match scores the weight of its best tier, times log2(2 + its popularity), which is between 1 and 64.
_BITS: Final = 7
WEIGHTS: Final = [float(1 << _BITS * tier) for tier in reversed(ALL)]
_OF_EXPONENT: Final = [COUNT - 1 - max(exponent - 1, 0) // _BITS for exponent in range(_BITS * COUNT + 1)]


def best_tiers(scores: Iterable[float]) -> list[int]:
    """The best tier of each match, from its score in a search that is weighted by popularity."""
    tiers = _OF_EXPONENT
    return [tiers[exponent] for _, exponent in map(math.frexp, scores)]
