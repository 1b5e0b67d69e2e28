"""What follows from labels, value by value."""

import re
from pathlib import Path

import pytest

from schemas import label_policy
from schemas.label_policy import ADULT, HIDING


@pytest.mark.parametrize("value", sorted(HIDING))
def test_a_hiding_label_hides_whatever_else_is_said(value: str) -> None:
    assert label_policy.effect_of([value]) == "hidden"
    assert label_policy.effect_of([value, "porn", "rock"]) == "hidden"
    assert label_policy.self_effect_of([value]) == "none"


@pytest.mark.parametrize("value", sorted(ADULT))
def test_an_adult_label_is_one_whoever_gives_it(value: str) -> None:
    assert label_policy.effect_of([value]) == label_policy.self_effect_of([value, "rock"]) == "adult"


@pytest.mark.parametrize("value", ["!warn", "!no-unauthenticated", "spam", "rock", "PORN", ""])
def test_other_values_are_shown_and_no_more(value: str) -> None:
    assert label_policy.effect_of([value]) == label_policy.self_effect_of([value]) == "none"


def test_the_stricter_effect_is_the_one_that_goes_further() -> None:
    assert label_policy.stricter("adult", "hidden") == label_policy.stricter("hidden", "none") == "hidden"
    assert label_policy.stricter("none", "adult") == "adult"


def test_a_page_says_why_in_a_sentence() -> None:
    assert label_policy.notice_of("none", ["rock"]) is None
    assert "adults" in (label_policy.notice_of("adult", ["porn"]) or "")
    assert "you" in (label_policy.notice_of("hidden", ["!hide"]) or "")
    assert "warn" in (label_policy.notice_of("none", ["!warn"]) or "")


def test_the_catalogue_knows_the_same_adult_labels() -> None:
    """Its view `adult_tracks` names the values of self-labels in SQL."""
    tables = (Path(label_policy.__file__).parent / "tables.sql").read_text()
    found = re.search(r"list_has_any\(labels, \[([^]]*)\]\)", tables)
    assert found is not None
    assert set(re.findall(r"'([^']*)'", found[1])) == ADULT
