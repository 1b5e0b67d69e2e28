"""The words of a search are marked in titles, many titles at a time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readapi.index.search.highlights import Highlighter
from readapi.index.search.query import QueryWords

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


@given(
    query=st.sampled_from(["night rain", "rain", "nig", "夜の", "x", ""]),
    texts=st.lists(st.sampled_from(TEXTS)),
)
def test_each_text_is_marked_as_it_is_alone(query, texts):
    """What stands beside it makes no difference."""
    mark = highlighter(query).mark

    assert mark(texts) == [marked for text in texts for marked in mark([text])]
