"""Notes: every deed and every failure has its sentence, and nobody else's words get in."""

from typing import get_args

import pytest

from readapi.oauth.errors import Kind
from readapi.pages.notices import Deed, Notice, find_notice


@pytest.mark.parametrize("name", [*get_args(Deed), *get_args(Kind), "expired"])
def test_whatever_can_happen_has_a_sentence(name: str) -> None:
    told = find_notice(name)

    assert told is not None
    assert told.sentence.endswith(".")
    assert told.is_bad is (name not in get_args(Deed))


@pytest.mark.parametrize("name", [None, "", "SIGNED-IN", "You have won a prize."])
def test_nobody_puts_a_sentence_of_their_own_on_our_pages(name: str | None) -> None:
    assert find_notice(name) is None


def test_a_note_is_one_sentence() -> None:
    assert find_notice("signed-out") == Notice("You are signed out.", is_bad=False)
