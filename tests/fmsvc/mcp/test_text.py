"""Texts of accounts as models get them."""

import pytest

from fmsvc.mcp.text import LONGEST, clean, clean_deeply


@pytest.mark.parametrize(
    "text",
    [
        "Song 2",
        "two\nlines\tand a tab",
        "ÄÖÜ 日本語 العربية עברית हिन्दी",
        "👩‍👩‍👧 ❤️",
        "میخواهم",  # with a joiner that changes the word
    ],
)
def test_what_people_see_stays(text):
    """Scripts and emoji need joiners and variation selectors."""
    assert clean(text) == text


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\U000e0069\U000e0067\U000e006eb", "ab"),  # tag characters spell a sentence
        ("a\U000e0100\U000e01efb", "ab"),  # as variation selectors of the supplement do
        ("a\u202etxt.exe\u202cb", "atxt.exeb"),  # shows the letters in another order
        ("a\u200b\u2060\ufeffb", "ab"),
        ("a\x00\x1b[31m\x9bb", "a[31mb"),
    ],
)
def test_what_nobody_sees_is_removed(text, seen):
    """It could tell a model what its user does not see."""
    assert clean(text) == seen


def test_texts_are_bounded():
    """And show that something was cut."""
    assert clean("x" * LONGEST) == "x" * LONGEST
    assert clean("x" * (LONGEST + 1)) == "x" * LONGEST + "…"


def test_objects_are_cleaned_to_their_depths():
    """Names of members too."""
    assert clean_deeply({"a\u200b": ["b\x00", {"c": 1, "d": None}]}) == {"a": ["b", {"c": 1, "d": None}]}
