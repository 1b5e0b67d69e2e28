"""Graphemes: what people count as letters, as Unicode cuts texts (https://unicode.org/reports/tr29/). Pure.

A flag is two regional indicators, and a segmenter that wants to know where it is in a run of flags goes back
to the run's beginning each time: 12,500 of them cost half a second. Only whether their number is even decides
anything beyond the run, so it is handed over shortened, or without its middle.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

import regex

Segmenter = Callable[[str], Iterator[Any]]  # a match for each grapheme

_SEGMENTS: Final[Segmenter] = regex.compile(r"\X").finditer
_FLAGS: Final = re.compile("[\U0001f1e6-\U0001f1ff]{4,}")


def count_graphemes(text: str, most: int, segments: Segmenter = _SEGMENTS) -> int:
    """The number of graphemes in a text; `most` + 1 for any text that has more than `most`."""
    cut_off = 0

    def shortened(run: re.Match[str]) -> str:
        nonlocal cut_off
        flags = (len(run[0]) - 2) // 2
        cut_off += flags
        return run[0][2 * flags :]

    short = _FLAGS.sub(shortened, text)
    left = max(most + 1 - cut_off, 0)
    return min(cut_off, most + 1) + sum(1 for _ in islice(segments(short), left))


def split_graphemes(text: str, segments: Segmenter = _SEGMENTS) -> list[str]:
    """The graphemes of a text, in order: joined, they are the text."""
    found: list[str] = []
    end = 0
    for run in _FLAGS.finditer(text):
        # The first flag goes with what is before the run, and the last one with what follows.
        first, last = run.start() + 2, run.start() + (len(run[0]) - 2) // 2 * 2
        found += [cluster[0] for cluster in segments(text[end:first])]
        found += [text[at : at + 2] for at in range(first, last, 2)]
        end = last
    return found + [cluster[0] for cluster in segments(text[end:])]
