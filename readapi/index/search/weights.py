"""How much each word of a query counts, and which of them a match cannot do without. Pure."""

import math
from collections.abc import Sequence
from typing import Final

ENOUGH: Final = 0.45  # of a query's weight, which a match must explain
SHARES: Final = 64  # that are told apart
STEPS: Final = 2 * SHARES  # of the relaxed tier
_UNKNOWN: Final = 0.6  # of a usual word's weight: what no name holds is more likely wrong than rare
_ROUNDING: Final = 1e-4  # more than the order changes in which an index adds weights up
_RARE: Final = 10  # names; what fewer hold is not rarer


def weigh_words(held: Sequence[int], shares: Sequence[float], documents: int) -> list[float]:
    """The weights of words, from about how many of all documents hold each, and the share of each."""
    known = [_rarity(count, documents) for count in held if count]
    usual = sum(known) / len(known) if known else 1.0
    return [
        share * (_rarity(count, documents) if count else _UNKNOWN * usual)
        for count, share in zip(held, shares, strict=True)
    ]


def essential_words(weights: Sequence[float]) -> list[int]:
    """The positions of the heaviest words: whatever holds none of them explains less than ENOUGH."""
    order = sorted(range(len(weights)), key=lambda position: -weights[position])
    least = ENOUGH * sum(weights)
    rest = sum(weights)
    chosen = []
    for position in order:
        if rest < least:
            break
        chosen.append(position)
        rest -= weights[position]
    return chosen


def relaxed_step(share: float, fits: bool) -> int | None:
    """The step of a match that explains a share of the query's weight; None: less than ENOUGH.

    The lower the better. Of equal shares the one comes first whose name has as many words as were typed.
    """
    if share < ENOUGH:
        return None
    return int((1 - min(share, 1.0)) * SHARES + _ROUNDING) * 2 + (not fits)


def _rarity(count: int, documents: int) -> float:
    """How much it tells that a document holds a word: a bit for each halving of those that do."""
    return math.log2(1 + documents / max(count, _RARE))
