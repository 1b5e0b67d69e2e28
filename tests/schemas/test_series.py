"""The numbers of subjects are the same in both languages."""

import duckdb
from hypothesis import given
from hypothesis import strategies as st

from schemas.series import SUBJECT, subject_of


@given(name=st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_python_and_duckdb_find_the_same_number(name: str) -> None:
    """Of any text."""
    [(found,)] = duckdb.execute(f"select {SUBJECT.format(name='$name')}", {"name": name}).fetchall()

    assert subject_of(name) == found
