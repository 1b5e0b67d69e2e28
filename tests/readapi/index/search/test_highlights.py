"""The words of a search are marked in titles, many titles at a time."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readapi.index.search.highlights import Highlighter
from readapi.index.search.query import QueryWords
from schemas import search_text

TEXTS = [
    "Night rain",
    "The nightly rain of the night",
    "Nothing",
    "",
    "ſtraße night",
    "Don't rain on me, night",
    "a\0night",
    "<b>NIGHT</b> & rain",
    "Ráin",
    "Ra\u0301in\u0301",
    "ﬂight by ni'ght",
    "夜の雨",
]


def highlighter(text: str) -> Highlighter:
    return Highlighter(QueryWords.read(text))


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("Night rain", "<mark>Night</mark> <mark>rain</mark>"),
        ("rainy night, rain", "<mark>rainy</mark> <mark>night</mark>, <mark>rain</mark>"),
        ("nights", None),
        ('<night> & "rain"', "&lt;<mark>night</mark>&gt; &amp; &quot;<mark>rain</mark>&quot;"),
        ("I can't sleep at night", "I can&#x27;t sleep at <mark>night</mark>"),
        ("fínal night", "fínal <mark>night</mark>"),
        ("the strange ﬂight night", "the strange ﬂight <mark>night</mark>"),
        ("ni'ght ra`inbows", "<mark>ni&#x27;ght</mark> <mark>ra`inbows</mark>"),
        ("rain\u0301 by night", "<mark>rain\u0301</mark> by <mark>night</mark>"),
        ("ra\u0301in", "<mark>ra\u0301in</mark>"),
        ("rain\0night", "<mark>rain</mark> <mark>night</mark>"),
        ("<mark>", None),
    ],
)
def test_whole_words_are_marked_and_the_beginning_that_is_typed_last(text, marked):
    """Also where an apostrophe, an accent or a ligature folds into none or two letters."""
    assert highlighter("night rain").mark([text]) == [marked]


@pytest.mark.parametrize(
    ("query", "title", "marked"),
    [
        ("stop", "Don't stop… it's over", "Don&#x27;t <mark>stop</mark>… it&#x27;s over"),
        ("rock", "Rock'n'Roll… rock", "<mark>Rock&#x27;n&#x27;Roll</mark>… <mark>rock</mark>"),
        ("weiß", "L’amour est weiß", "L’amour est <mark>weiß</mark>"),
        ("amour", "L’amour weiß", None),
        ("❤", "I ❤\ufe0f it", "I <mark>❤\ufe0f</mark> it"),
        ("1", "Top 1\ufe0f\u20e3", "Top <mark>1\ufe0f\u20e3</mark>"),
        ("が", "か\u3099 …", "<mark>か\u3099</mark> …"),
        ("가", "\u1100\u1161", "<mark>\u1100\u1161</mark>"),
    ],
)
def test_marks_are_where_the_letters_are(query, title, marked):
    """Also where a letter that folds into two makes up for one that folds into none; no grapheme is cut."""
    assert highlighter(query).mark([title]) == [marked]


def test_a_text_that_folds_otherwise_as_a_whole_has_no_marks(monkeypatch):
    monkeypatch.setattr(search_text, "fold_graphemes", lambda text: ([text], ["other"]))

    assert highlighter("night").mark(["ni'ght"]) == [None]


@given(st.lists(st.text(alphabet="nigtrah 'ß…’ﬂ\u0301é夜❤\ufe0f", max_size=20), max_size=5))
def test_what_is_marked_folds_into_the_words(texts):
    for text, marked in zip(texts, highlighter("night ra").mark(texts), strict=True):
        if marked is not None:
            assert html.unescape(re.sub("</?mark>", "", marked)) == text
            for found in re.findall("<mark>(.*?)</mark>", marked):
                assert search_text.fold_text(html.unescape(found)).startswith(("night", "ra"))


@given(
    query=st.sampled_from(["night rain", "rain", "nig", "夜の", "x", ""]),
    texts=st.lists(st.sampled_from(TEXTS)),
)
def test_each_text_is_marked_as_it_is_alone(query, texts):
    """What stands beside it makes no difference."""
    mark = highlighter(query).mark

    assert mark(texts) == [marked for text in texts for marked in mark([text])]
