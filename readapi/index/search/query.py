"""Parses a search text into words. Pure; any text is valid, as there is no query language."""

from dataclasses import dataclass
from typing import NamedTuple

from schemas import search_text
from schemas.ids import is_handle

MOST_WORDS = 24  # more add nothing but time
_EDGES = '@#.,:;!?()[]{}<>"“”„«»‹›‘’…'


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


@dataclass(frozen=True, slots=True)
class QueryWords:
    """A parsed search text: the whole as a name, and its words; the last may be a prefix."""

    whole: str
    words: tuple[Word, ...]

    @classmethod
    def read(cls, text: str) -> "QueryWords":
        """Parse a search text."""
        chunks = [chunk for chunk in (chunk.strip(_EDGES) for chunk in text.split()) if chunk]
        words: dict[Word, None] = {}
        for chunk in chunks:
            words.update(dict.fromkeys(_words(chunk)))
        kept = list(words)[:MOST_WORDS]
        if kept:
            kept[-1] = _as_last(kept[-1])
        return cls(search_text.squeeze_name(text), tuple(kept))


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
