"""Graphemes are counted and split as Unicode says; the work grows as the text does, whatever is in it."""

from collections.abc import Iterator

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from schemas import graphemes
from schemas.fields import Text

FLAG = "\U0001f1e9\U0001f1ea"
# One of each kind that the rules of segmentation tell apart.
KINDS = "\U0001f1e9\U0001f1ea\u0301\u200d👩🏽\u0600a\r\n\u1100\u1161\u11a8\u0915\u094d\u0903\U000e0067\ufe0f "

_every = regex.compile(r"\X").finditer


def whole(text: str) -> int:
    """The count of the segmenter that goes over the whole text."""
    return len(list(_every(text)))


@given(st.text(alphabet=KINDS, max_size=40) | st.text(alphabet=KINDS[:4], max_size=40) | st.text(max_size=40))
def test_a_count_is_that_of_the_whole_segmentation(text: str) -> None:
    """Runs of flags are shortened so that nothing before or behind them is cut elsewhere."""
    assert graphemes.count_graphemes(text, 100) == whole(text)
    assert graphemes.split_graphemes(text) == [cluster[0] for cluster in _every(text)]


@pytest.mark.parametrize("before", ["", "a", "\u0600", "👩\u200d", "\r"])
@pytest.mark.parametrize("behind", ["", "\u0301", "\u200d", "👩", "\u0301" + FLAG])
def test_every_length_of_a_run_of_flags(before: str, behind: str) -> None:
    """Odd ones leave a single indicator, which takes what follows."""
    for length in range(12):
        text = before + "\U0001f1e9" * length + behind
        assert graphemes.count_graphemes(text, 100) == whole(text), length
        assert graphemes.split_graphemes(text) == [cluster[0] for cluster in _every(text)], length


@pytest.mark.parametrize(
    "text", [FLAG * 6250, "\U0001f1e9" * 12_499, (FLAG * 50 + "a") * 120, "e\u0301" * 16_000]
)
def test_the_segmenter_sees_no_long_run_and_no_more_than_is_counted(text: str) -> None:
    """50 KB of flags were 12,500 indicators, and for each of them the run was read from its beginning."""
    seen = 0
    longest = 0

    def counting(short: str) -> Iterator[object]:
        nonlocal seen, longest
        longest = max(map(len, regex.findall(r"\p{Regional_Indicator}+", short)), default=0)
        for cluster in _every(short):
            seen += len(cluster[0])
            yield cluster

    assert graphemes.count_graphemes(text, 5000, counting) == min(whole(text), 5001)
    assert longest <= 3
    assert seen <= 2 * 5001
    assert graphemes.split_graphemes(text, counting) == [cluster[0] for cluster in _every(text)]
    assert longest <= 3


def test_bytes_are_looked_at_before_graphemes() -> None:
    """What is too long for machines is not counted for people."""
    limit = Text(max_bytes=50_000, max_graphemes=5000)

    with pytest.raises(ValueError, match="bytes"):
        limit.check(FLAG * 100_000)
    with pytest.raises(ValueError, match="5000 letters"):
        limit.check(FLAG * 6250)
    assert limit.check(FLAG * 5000)
