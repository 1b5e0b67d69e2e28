"""Which words of a title a search found, as HTML: escaped, with <mark>. Pure."""

import html
import re
from collections.abc import Iterable, Sequence
from itertools import accumulate, compress

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
        is_aligned = list(map(search_text.is_aligned, texts, folded))
        spans = self._found(_BETWEEN.join(compress(folded, is_aligned)))
        marked = iter(_marked(_BETWEEN.join(compress(texts, is_aligned)), spans).split(_BETWEEN))
        shown = [
            next(marked) if aligned else self._realigned(text, fold)
            for text, fold, aligned in zip(texts, folded, is_aligned, strict=True)
        ]
        return [text if _MARK in text else None for text in shown]

    def _found(self, folded: str) -> list[tuple[int, int]]:
        """Where a folded text has the words."""
        return sorted(span for word in self._words if word.text in folded for span in _spans(word, folded))

    def _realigned(self, text: str, folded: str) -> str:
        """A text marked of which letters fold into none or several, as an apostrophe or a ligature does."""
        found = self._found(folded)
        if not found:
            return ""
        graphemes, pieces = search_text.fold_graphemes(text)
        if "".join(pieces) != folded:
            return ""  # they fold otherwise beside one another: it is not known which is which
        origins = [number for number, piece in enumerate(pieces) for _ in piece]
        starts = list(accumulate(map(len, graphemes), initial=0))
        return _marked(
            text, [(starts[origins[start]], starts[origins[stop - 1] + 1]) for start, stop in found]
        )


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
