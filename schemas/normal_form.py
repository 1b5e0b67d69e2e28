"""Unicode normal forms of untrusted text, in linear time. Pure.

To normalise is to sort the marks on each letter, and Python's way takes the square of their number: 25,000
marks cost half a second. So long runs of marks are parted first, as Unicode's Stream-Safe Text Process does
(https://unicode.org/reports/tr15/#Stream_Safe_Text_Format). No language stacks that many.
"""

import unicodedata
from typing import Final, Literal

import regex

LONGEST_RUN: Final = 30
JOINER: Final = "\u034f"  # invisible; marks are not sorted across it

# Everything that is, or becomes, a mark: besides marks themselves, two kana signs of half width.
_MARK: Final = rf"[[\p{{M}}\uff9e\uff9f]--[{JOINER}]]"
_RUN: Final = regex.compile(f"{_MARK}{{{LONGEST_RUN}}}(?={_MARK})", regex.VERSION1)

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]


def normalise(form: Form, text: str) -> str:
    """The text in that form."""
    # To see that marks are in order is quick; most text is, and needs no look at its runs.
    if text.isascii() or unicodedata.is_normalized(form, text):
        return text
    return unicodedata.normalize(form, stream_safe(text))


def stream_safe(text: str) -> str:
    """The text with a joiner after each 30 marks in a row."""
    if len(text) <= LONGEST_RUN:
        return text
    safe: str = _RUN.sub(rf"\g<0>{JOINER}", text)
    return safe
