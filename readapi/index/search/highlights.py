"""Which words of a title a search found, as HTML: escaped, with <mark>. Pure."""

import html
import re
from collections.abc import Iterable

import orjson

from readapi.index.search.query import QueryWords, Word
from schemas import search_text

_TITLE = b'"title":"'
_SPECIAL = re.compile("[&<>\"']")


class Highlighter:
    """Marks the words of a query."""

    def __init__(self, wanted: QueryWords) -> None:
        self._words = [part for word in wanted.words for part in (word.parts or (word,))]

    def of(self, hit: bytes) -> str | None:
        """The marked title of a track's search result; None when it holds none of the words."""
        return self.mark(_title(hit))

    def mark(self, title: str) -> str | None:
        """The marked text; None when it holds none of the words."""
        folded = search_text.fold_text(title)
        # Folding may change how many letters there are; then it is not known which to mark.
        if len(folded) != len(title):
            return None
        spans = [span for word in self._words if word.text in folded for span in _spans(word, folded)]
        if not spans:
            return None
        if len(spans) > 1:
            spans.sort()
        return _marked(title, spans)


def _marked(title: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with these parts of it marked, each letter once."""
    escape = html.escape if _SPECIAL.search(title) else str
    marked, end = "", 0
    for start, stop in spans:
        if start >= end:
            marked += f"{escape(title[end:start])}<mark>{escape(title[start:stop])}</mark>"
            end = stop
    return marked + escape(title[end:])


def _title(hit: bytes) -> str:
    """The title in a search result without its closing brace. To parse the whole costs five times as much."""
    start = hit.index(_TITLE) + len(_TITLE)
    title = hit[start : hit.index(b'"', start)]
    return str(orjson.loads(hit + b"}")["title"]) if b"\\" in title else title.decode()


def _spans(word: Word, folded: str) -> list[tuple[int, int]]:
    """Where a folded title has the word; a last word is the beginning of one, an unspaced run anything."""
    text, size = word.text, len(folded)
    spans = []
    start = folded.find(text)
    while start >= 0:
        stop = start + len(text)
        if word.is_unspaced:
            spans.append((start, stop))
        elif start == 0 or not folded[start - 1].isalnum():
            while word.is_last and stop < size and folded[stop].isalnum():
                stop += 1
            if stop == size or not folded[stop].isalnum():
                spans.append((start, stop))
        start = folded.find(text, stop)
    return spans
