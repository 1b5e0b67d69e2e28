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
        ("I can't sleep at night", None),
        ("fínal night", "fínal <mark>night</mark>"),
        ("the strange ﬂight night", None),
        ("rain\0night", "<mark>rain</mark> <mark>night</mark>"),
        ("<mark>", None),
    ],
)
def test_whole_words_are_marked_and_the_beginning_that_is_typed_last(text, marked):
    """An apostrophe or a ligature folds into another number of letters: then nothing is marked."""
    assert highlighter("night rain").mark([text]) == [marked]


@given(
    query=st.sampled_from(["night rain", "rain", "nig", "夜の", "x", ""]),
    texts=st.lists(st.sampled_from(TEXTS)),
)
def test_each_text_is_marked_as_it_is_alone(query, texts):
    """What stands beside it makes no difference."""
    mark = highlighter(query).mark

    assert mark(texts) == [marked for text in texts for marked in mark([text])]
