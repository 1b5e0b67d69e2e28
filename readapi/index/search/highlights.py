"""Which words of a title a search found, as HTML: escaped, with <mark>. Pure."""

import html
import re
from collections.abc import Iterable, Sequence
from itertools import compress
from operator import eq

import orjson

from readapi.index.search.query import QueryWords, Word
from schemas import search_text

_TITLE = b'"title":"'
_SPECIAL = re.compile("[&<>\"']")
_MARK = "<mark>"
_BETWEEN = "\0"  # texts that are marked together: no word has it


class Highlighter:
    """Marks the words of a query."""

    def __init__(self, wanted: QueryWords) -> None:
        self._words = [part for word in wanted.words for part in (word.parts or (word,))]

    def mark(self, texts: Sequence[str]) -> list[str | None]:
        """The texts marked; None for each that holds none of the words.

        They are looked through together, which costs less than one after the other.
        """
        if _BETWEEN in "".join(texts):
            texts = [text.replace(_BETWEEN, " ") for text in texts]
        folded = list(map(search_text.fold_text, texts))
        # Folding may change how many letters there are; then it is not known which to mark.
        is_known = list(map(eq, map(len, texts), map(len, folded)))
        together = _BETWEEN.join(compress(folded, is_known))
        spans = [span for word in self._words if word.text in together for span in _spans(word, together)]
        if not spans:
            return [None] * len(texts)
        if len(spans) > 1:
            spans.sort()
        marked = iter(_marked(_BETWEEN.join(compress(texts, is_known)), spans).split(_BETWEEN))
        return [text if known and _MARK in (text := next(marked)) else None for known in is_known]


def _marked(title: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with these parts of it marked, each letter once."""
    escape = html.escape if _SPECIAL.search(title) else str
    marked, end = "", 0
    for start, stop in spans:
        if start >= end:
            marked += f"{escape(title[end:start])}<mark>{escape(title[start:stop])}</mark>"
            end = stop
    return marked + escape(title[end:])


def title_of(hit: bytes) -> str:
    """The title in a search result without its closing brace. To parse the whole costs five times as much."""
    title = hit.partition(_TITLE)[2].partition(b'"')[0]
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
