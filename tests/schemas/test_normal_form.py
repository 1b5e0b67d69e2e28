"""Normal forms are Unicode's, and no text makes them cost more than its length."""

import sys
import unicodedata
from typing import get_args

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from schemas import search_text
from schemas.ids import normalise_tag
from schemas.normal_form import JOINER, LONGEST_RUN, Form, normalise, stream_safe
from schemas.slugs import same_name, slug

MARKS = "\u0301\u0316\u0334\u0345\u0f73\u3099\uff9e"
forms = pytest.mark.parametrize("form", get_args(Form))


@forms
@given(st.text(max_size=50) | st.text(alphabet=MARKS + "aé東ｶ", max_size=LONGEST_RUN))
def test_ordinary_text_has_unicodes_form(form: Form, text: str) -> None:
    """Nothing that a language writes is changed."""
    assert normalise(form, text) == unicodedata.normalize(form, text)


def unordered(text: str) -> int:
    """The longest run of marks that a normal form would have to sort: its work is the square of that."""
    decomposed = "".join(unicodedata.normalize("NFKD", letter) for letter in text)
    runs = regex.findall(r"\p{Canonical_Combining_Class=0}*+(\P{Canonical_Combining_Class=0}+)", decomposed)
    return max(map(len, runs), default=0)


@pytest.mark.parametrize(
    "marks", ["\u0301\u0316", "\uff9e\u0301", "\u0345\u0301\u0316\u0334", "\u0f73\u0301", "\u0344\u0316"]
)
def test_no_run_of_marks_is_sorted_whole(marks: str) -> None:
    """25,000 marks are parted into short runs, whatever becomes a mark on the way."""
    text = "a" + marks * 12_500

    assert unordered(text) > 12_000
    assert unordered(stream_safe(text)) <= 3 * LONGEST_RUN
    assert stream_safe(stream_safe(text)) == stream_safe(text)
    assert stream_safe(text).replace(JOINER, "") == text


def test_every_character_that_becomes_a_mark_is_known() -> None:
    """A later version of Unicode may bring another."""
    unknown = [
        chr(code)
        for code in range(sys.maxunicode + 1)
        if unicodedata.combining(unicodedata.normalize("NFKD", chr(code))[0])
        and JOINER not in stream_safe(chr(code) * (LONGEST_RUN + 1))
    ]

    assert unknown == []


def test_names_of_marks_are_still_names() -> None:
    """What is derived of a text goes through the same door."""
    text = "Lua" + "\u0301\u0316" * 12_500

    assert search_text.fold_text(text) == "lua"
    assert normalise_tag(text).startswith("lu")
    assert slug(text).startswith("lu")
    assert same_name(text).startswith("lu")


def test_long_texts_are_not_kept_in_memory() -> None:
    """Only names are folded again and again."""
    before = search_text._name_folded.cache_info().currsize

    for number in range(10):
        search_text.fold_text(f"é{number}" * 10_000)

    assert search_text._name_folded.cache_info().currsize == before
