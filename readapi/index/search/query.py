"""Parses a search text into words, operators and hints. Pure; any text is valid.

Operators: `"a phrase"`, `artist:name`, `album:name`, `tag:name` (each also with a phrase), and `-` before a
word or one of these to leave out what has it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

from schemas import search_text
from schemas.ids import is_handle
from schemas.search_index import Scope

MOST_WORDS: Final = 24  # more add nothing but time
MOST_CONDITIONS: Final = 8
_EDGES: Final = '@#.,:;!?()[]{}<>"“”„«»‹›‘’…'
_OPERATOR: Final = re.compile(
    r"""(?<!\S)(?P<minus>-?)(?:(?P<scope>artist|album|tag):(?=["“]?\w))?(?:["“](?P<phrase>[^"“”]*)["”]|(?P<word>\S+))""",
    re.IGNORECASE,
)
_BY: Final = "by"
_FEATURING: Final = frozenset({"feat", "ft", "featuring"})
# Words that people add to a title, or leave away.
_BESIDE_TITLES: Final = _FEATURING | {
    _BY, "official", "lyrics", "lyric", "audio", "video", "visualizer", "remix", "music", "song", "hd", "hq",
    "mp3",
}  # fmt: skip
BESIDE: Final = 0.1  # of a word's weight, if it is one of these
GUEST: Final = 0.3  # if it follows "feat."


class Word(NamedTuple):
    """One word, or a run of a script without spaces, of which all pairs must be found.

    A handle is one word; its `parts` found each for itself do as well, since `demo.wav` looks like one.
    """

    text: str
    is_last: bool = False
    is_unspaced: bool = False
    parts: tuple["Word", ...] = ()

    def complete(self) -> "Word":
        """The same, not as the beginning of something."""
        return self._replace(is_last=False, parts=tuple(part.complete() for part in self.parts))


class Condition(NamedTuple):
    """What every result must have, or must not: these words, in names of a scope or anywhere.

    `text` is what was typed. `is_phrase`: side by side and in this order.
    """

    scope: Scope | None
    text: str
    words: tuple[Word, ...]
    is_phrase: bool


@dataclass(frozen=True, slots=True)
class QueryWords:
    """A parsed search text: the whole as a name, its words, and conditions; the last word may be a prefix."""

    whole: str
    words: tuple[Word, ...]
    required: tuple[Condition, ...] = ()
    excluded: tuple[Condition, ...] = ()
    goes_on: bool = False  # the text ends in a space: another word is to follow

    @classmethod
    def read(cls, text: str) -> "QueryWords":
        """Parse a search text."""
        free: list[str] = []
        conditions: list[tuple[bool, Condition]] = []
        for found in _OPERATOR.finditer(text):
            condition = _condition(found) if len(conditions) < MOST_CONDITIONS else None
            if condition is None:
                free.append(found[0])
                continue
            is_excluded = bool(found["minus"])
            conditions.append((is_excluded, condition))
            if condition.scope is None and not is_excluded:
                free.append(condition.text)
        required = tuple(condition for is_excluded, condition in conditions if not is_excluded)
        excluded = tuple(condition for is_excluded, condition in conditions if is_excluded)
        if not free:
            # Without any other word, what an operator names is looked for.
            free = [condition.text for condition in required]
        wanted = " ".join(free) if conditions else text
        may_go_on = not conditions or not text.rstrip().endswith(('"', "”"))
        words = _read_words(wanted, may_go_on)
        return cls(search_text.squeeze_name(wanted), words, required, excluded, text[-1:].isspace())

    @property
    def title(self) -> tuple[Word, ...]:
        """The words that are likely to be the title: those before "by", without additions as "lyrics"."""
        words = self.words
        by = [word.text for word in words].index(_BY) if _is_named(words) else len(words)
        shares = self.shares
        return tuple(word for word, share in zip(words[:by], shares, strict=False) if share == 1)

    @property
    def shares(self) -> tuple[float, ...]:
        """How much of its weight each word has: all, unless it is an addition beside other words."""
        shares: list[float] = []
        usual = 1.0
        for word in self.words:
            if word.text in _BESIDE_TITLES:
                usual = GUEST if word.text in _FEATURING else 1.0
                shares.append(BESIDE)
            else:
                shares.append(usual)
        return tuple(shares) if 1.0 in shares else (1.0,) * len(shares)


def _is_named(words: Sequence[Word]) -> bool:
    """Whether there is a "by" between other words."""
    return _BY in [word.text for word in words[1:-1]] and words[0].text != _BY


def _condition(found: re.Match[str]) -> Condition | None:
    """What an operator asks for; None for a plain word."""
    phrase, minus, scope = found["phrase"], found["minus"], found["scope"]
    text = found["word"] if phrase is None else phrase
    if phrase is None and not scope and not (minus and text[0].isalnum()):
        return None
    words = tuple(Word(run, is_unspaced=search_text.is_unspaced(run)) for run in search_text.split_runs(text))
    if not words:
        return None
    known = cast("Scope | None", scope.lower() if scope else None)
    return Condition(known, text, words[:MOST_WORDS], is_phrase=phrase is not None)


def _read_words(text: str, may_go_on: bool) -> tuple[Word, ...]:
    words: dict[Word, None] = {}
    for chunk in _chunks(text):
        words.update(dict.fromkeys(_words(chunk)))
    kept = list(words)[:MOST_WORDS]
    if kept and may_go_on:
        kept[-1] = _as_last(kept[-1])
    return tuple(kept)


def _chunks(text: str) -> Iterator[str]:
    return (chunk for chunk in (chunk.strip(_EDGES) for chunk in text.split()) if chunk)


def _words(chunk: str) -> list[Word]:
    parts = tuple(
        Word(run, is_unspaced=search_text.is_unspaced(run)) for run in search_text.split_runs(chunk)
    )
    if len(parts) > 1 and is_handle(chunk):
        return [Word(search_text.squeeze_name(chunk), parts=parts)]
    return list(parts)


def _as_last(word: Word) -> Word:
    return word._replace(
        is_last=True, parts=(*word.parts[:-1], _as_last(word.parts[-1])) if word.parts else ()
    )
