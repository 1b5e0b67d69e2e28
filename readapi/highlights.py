"""Which words of a title a search found, as HTML: escaped, with <mark>. Pure."""

import html
import unicodedata

from readapi.query_words import QueryWords, Word
from schemas import search_text


def highlight(title: str, wanted: QueryWords) -> str | None:
    """The title with the words that were asked for marked; None when it holds none of them."""
    words = [part for word in wanted.words for part in (word.parts or (word,))]
    parts: list[str] = []
    end, marked = 0, False
    title = unicodedata.normalize("NFC", title)
    for start, stop in search_text.spans(title):
        if _is_asked_for(search_text.squeeze(title[start:stop]), words):
            parts += html.escape(title[end:start]), "<mark>", html.escape(title[start:stop]), "</mark>"
            end, marked = stop, True
    return "".join([*parts, html.escape(title[end:])]) if marked else None


def _is_asked_for(run: str, words: list[Word]) -> bool:
    for word in words:
        if run == word.text or (word.is_last and run.startswith(word.text)):
            return True
        if word.is_unspaced and word.text in run:
            return True
    return False
