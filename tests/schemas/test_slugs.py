"""Slugs are the same on every node, readable in every script, and never empty."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.slugs import MAX_LETTERS, same_name, slug


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("First Light", "first-light"),
        ("Été — Vol. 2", "été-vol-2"),
        ("  --Wasser!!  ", "wasser"),
        ("夜の東京", "夜の東京"),
        ("ﬁne", "fine"),
        ("a/b?c#d", "a-b-c-d"),
        ("🔥🔥", "untitled"),
        ("", "untitled"),
    ],
)
def test_a_slug_keeps_letters_and_digits(name, expected):
    """Of any script; everything else is a hyphen."""
    assert slug(name) == expected


@given(st.text(max_size=300))
def test_any_name_has_a_slug(name):
    """Not empty, not long, without hyphens at its ends or slashes inside."""
    found = slug(name)

    assert 0 < len(found) <= MAX_LETTERS
    assert found == found.strip("-")
    assert not set(found) & set("/?#% \0")


def test_names_that_mean_the_same_album():
    """Case, width and outer spaces make no difference; words do."""
    assert same_name(" Wasser ") == same_name("ＷＡＳＳＥＲ")
    assert same_name("Wasser") != same_name("Wasser 2")
