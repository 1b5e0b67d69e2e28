"""Cursors go around unharmed, and nothing else is taken for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readapi.errors import InvalidCursor
from readapi.index import cursors


@given(st.integers(0, 2**64 - 1), st.text(st.characters(codec="utf-8")))
def test_a_cursor_comes_back_as_it_was_given(number, text):
    """Every position survives."""
    cursor = cursors.encode_cursor("tracks.recent", number, text)

    assert cursors.decode_cursor(cursor, "tracks.recent", int, str) == (number, text)
    assert cursor.isascii()
    assert "=" not in cursor


def test_no_cursor_is_the_first_page():
    """Absent means from the beginning."""
    assert cursors.decode_cursor(None, "tracks.recent", int) is None


def test_a_cursor_of_another_order_is_refused():
    """A position in one list says nothing about another."""
    with pytest.raises(InvalidCursor):
        cursors.decode_cursor(cursors.encode_cursor("tracks.popular", 1), "tracks.recent", int)


@pytest.mark.parametrize("position", [("1",), (1, 2), (), (True,), (1.0,), (-1,), (None,)])
def test_a_position_of_another_kind_is_refused(position):
    """Right version, right order, wrong content."""
    with pytest.raises(InvalidCursor):
        cursors.decode_cursor(cursors.encode_cursor("o", *position), "o", int)


@given(st.one_of(st.text(), st.from_regex(r"[A-Za-z0-9_-]{0,80}", fullmatch=True)))
def test_garbage_is_refused(text):
    """Any other string, whatever is in it."""
    with pytest.raises(InvalidCursor):
        cursors.decode_cursor(text, "tracks.recent", int)
