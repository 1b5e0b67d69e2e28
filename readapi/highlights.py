"""Which words of a title a search found, as HTML: escaped, with <mark>. Pure."""

import html
import re

import orjson

from readapi.query_words import QueryWords, Word
from schemas import search_text

_SPECIAL = re.compile("[&<>\"']")


class Highlighter:
    """Marks the words that were asked for."""

    def __init__(self, wanted: QueryWords) -> None:
        words = [part for word in wanted.words for part in (word.parts or (word,))]
        self._pattern = re.compile("|".join(_pattern(word) for word in words)) if words else None

    def of(self, hit: bytes) -> str | None:
        """The marked title of a track's search result; None when it holds none of the words."""
        title: str = orjson.loads(hit + b"}")["title"]
        folded = search_text.fold(title)
        # Folding may change how many letters there are; then nobody can say which to mark.
        if self._pattern is None or len(folded) != len(title):
            return None
        escape = html.escape if _SPECIAL.search(title) else str
        parts: list[str] = []
        end = 0
        for match in self._pattern.finditer(folded):
            start, stop = match.span()
            parts += escape(title[end:start]), "<mark>", escape(title[start:stop]), "</mark>"
            end = stop
        return "".join([*parts, escape(title[end:])]) if parts else None


def _pattern(word: Word) -> str:
    text = re.escape(word.text)
    if word.is_unspaced:
        return text
    return rf"\b{text}\w*" if word.is_last else rf"\b{text}\b"
