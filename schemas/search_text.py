"""How names become searchable words: the same for indexing and for queries. Pure."""

import re
import unicodedata
from functools import lru_cache

from schemas.graphemes import split_graphemes
from schemas.normal_form import normalise

WORD_LETTERS = 64  # longer words are cut, the same way in the index and in a query
SHORT_NAME_LETTERS = 16
REMEMBERED_LETTERS = 256  # of a text whose spelling is kept at hand
NEAR_LETTERS = range(3, 33)  # shorter words are near too many others; longer ones have too many rests
FAR_LETTERS = range(8, 17)  # words of a name that may have two typos
END_LETTERS = 3  # of the shortest end of a word that is a term of its own

_IGNORED = re.compile(
    "['’ʼ`´\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1-\u05c7\u064b-\u065f\u0670\u00ad"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u200b-\u200f\u202a-\u202e\u2060-\u2064\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f\ufeff]"
)
# Scripts written without spaces, and pictures: searched by single letters and by pairs of neighbours.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2600-\u27bf\u3005-\u3007\u3040-\u30ff\u3130-\u318f"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff\uf900-\ufaff\U0001f000-\U0001faff\U00020000-\U0003ffff"
)
_INDIC = "\u0900-\u0963\u0966-\u0dff"  # vowel signs there are letters, which \w does not know
_RUN = re.compile(f"[{_UNSPACED}]+|(?:[^\\W_{_UNSPACED}]|[{_INDIC}])+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")

_LATIN = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"}
_LETTERS: dict[int, str | int] = {
    **{ord(letter): plain for letter, plain in _LATIN.items()},
    **{katakana: katakana - 0x60 for katakana in range(0x30A1, 0x30F7)},
}


def fold_text(text: str) -> str:
    """One spelling for texts that people type alike: case, accents, width, apostrophes and kana folded."""
    if text.isascii():
        return text.lower().replace("'", "").replace("`", "")
    # Only what comes again is remembered: names and words. A cache of descriptions would take a gigabyte.
    return _name_folded(text) if len(text) <= REMEMBERED_LETTERS else _folded(text)


def is_aligned(text: str, folded: str) -> bool:
    """Whether each letter of a text is one letter of its folded form, in the same place.

    Equal lengths alone do not tell: a letter that folds into two can make up for one that is left out.
    Letters are left out where they are ignored, or composed with others.
    """
    if len(text) != len(folded):
        return False
    return text.isascii() or (unicodedata.is_normalized("NFKC", text) and _IGNORED.search(text) is None)


def fold_graphemes(text: str) -> tuple[list[str], list[str]]:
    """The graphemes of a text, and what each folds into; nothing of it is remembered."""
    graphemes = split_graphemes(text)
    return graphemes, [fold_text(one) if one.isascii() else _folded(one) for one in graphemes]


def _folded(text: str) -> str:
    text = normalise("NFD", normalise("NFKC", text).casefold())
    return normalise("NFC", _IGNORED.sub("", text)).translate(_LETTERS)


_name_folded = lru_cache(maxsize=4096)(_folded)


def split_runs(text: str) -> list[str]:
    """The folded text, split at word ends and where a script without spaces begins or ends."""
    return [run[:WORD_LETTERS] for run in _RUN.findall(fold_text(text))]


def is_unspaced(run: str) -> bool:
    """True for a run of letters that is searched by pairs instead of as a word."""
    return _IS_UNSPACED.match(run) is not None


def pair_letters(run: str) -> list[str]:
    """Each pair of neighbours in an unspaced run; a single letter stays alone."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def split_words(text: str) -> list[str]:
    """The terms by which a text is found: its words, and the letters and pairs of unspaced runs."""
    found: list[str] = []
    for run in split_runs(text):
        if is_unspaced(run):
            found.extend(run)
            found.extend(pair_letters(run) if len(run) > 1 else [])
        else:
            found.append(run)
    return found


def squeeze_name(text: str) -> str:
    """A whole name as one term, without spaces and signs; a name of nothing but signs keeps them."""
    return ("".join(split_runs(text)) or "".join(fold_text(text).split()))[:256]


def letter_deletions(word: str) -> list[str]:
    """The word, and the word without any one of its letters: words one typo apart share such a rest."""
    if len(word) not in NEAR_LETTERS:
        return []
    return [word, *(word[:at] + word[at + 1 :] for at in range(len(word)))]


def two_deletions(word: str) -> list[str]:
    """The word without any two of its letters: words two typos apart share such a rest, or one of fewer."""
    return list(
        dict.fromkeys(
            word[:first] + word[first + 1 : second] + word[second + 1 :]
            for second in range(len(word))
            for first in range(second)
        )
    )


def word_ends(word: str) -> list[str]:
    """What a word ends with, from its second letter on: letters from its middle begin one of these."""
    return [word[at:] for at in range(1, min(len(word), NEAR_LETTERS.stop) - END_LETTERS + 1)]


def whole_rests(name: str) -> list[str]:
    """The rests of a squeezed name. A long name of several words has the rests of those words."""
    return letter_deletions(name) if len(name) <= SHORT_NAME_LETTERS or _IS_UNSPACED.search(name) else []
