"""What is typed and what is indexed meet in the same words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import search_text


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("cafe del mar", "Café del Mar"),
        ("strasse", "Straße"),
        ("lodz", "ŁÓDŹ"),
        ("istanbul", "İstanbul"),
        ("dont stop", "Don’t Stop"),
        ("full width", "ＦＵＬＬ ｗｉｄｔｈ"),
        ("かたかな", "カタカナ"),
        ("ガ", "ｶﾞ"),
        ("naïve", "nai\u0308ve"),
        ("a", "a" + "\u0301" * 100),
        ("שלום", "שָׁלוֹם"),
    ],
)
def test_what_people_type_alike_is_one_spelling(typed, written):
    """Case, accents, width, kana, apostrophes and vowel points make no difference."""
    assert search_text.split_words(typed) == search_text.split_words(written)


def test_scripts_without_spaces_are_found_by_letters_and_pairs():
    """Japanese, Chinese, Korean, Thai; mixed with words, too."""
    assert search_text.split_words("夜の東京 Night") == [
        "夜",
        "の",
        "東",
        "京",
        "夜の",
        "の東",
        "東京",
        "night",
    ]
    assert search_text.split_words("서울") == ["서", "울", "서울"]
    assert search_text.split_words("愛") == ["愛"]


def test_vowel_signs_stay_in_their_words():
    """Python's own idea of a word would cut Hindi apart."""
    assert search_text.split_words("हिन्दी गाना") == ["हिन्दी", "गाना"]


def test_a_name_is_one_term_however_it_is_spaced():
    """Signs fall away, unless there is nothing else."""
    assert search_text.squeeze_name("AC/DC") == search_text.squeeze_name("ac dc") == "acdc"
    assert search_text.squeeze_name("!!!") == "!!!"
    assert search_text.squeeze_name("\u200b") == ""


def test_words_a_typo_apart_share_a_rest():
    """A letter too many, too few, another one, or two that changed places."""
    rests = set(search_text.letter_deletions("tokyo"))

    for typo in ("tokyoo", "tokio", "toyo", "tokoy"):
        assert rests & set(search_text.letter_deletions(typo)), typo
    assert not rests & set(search_text.letter_deletions("kyoto"))
    assert search_text.letter_deletions("to") == search_text.letter_deletions("x" * 33) == []


@given(st.text(max_size=300))
def test_any_text_has_words(text):
    """No word is empty, overlong, or holds what a tokenizer would cut at."""
    for word in search_text.split_words(text):
        assert 0 < len(word) <= search_text.WORD_LETTERS
        assert not any(letter.isspace() for letter in word)
    assert not any(letter.isspace() for letter in search_text.squeeze_name(text))


@given(st.text(max_size=60))
def test_folding_twice_changes_nothing_more(text):
    """So words that were folded before may be folded again."""
    folded = search_text.fold_text(text)

    assert search_text.fold_text(folded) == folded
