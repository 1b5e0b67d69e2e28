"""Datetimes follow the protocol's syntax; what no calendar has is a ValueError."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import datetimes
from tests import interop


def test_valid_datetimes_of_the_public_vectors_parse() -> None:
    """All of them, but for the year 0, which neither Python nor SQL knows."""
    refused = [text for text in interop.lines("syntax/datetime_syntax_valid.txt") if not parses(text)]

    assert refused == ["0000-01-01T00:00:00.000Z"]


def test_invalid_datetimes_of_the_public_vectors_do_not() -> None:
    """Bad syntax, and good syntax that names no instant."""
    texts = interop.lines("syntax/datetime_syntax_invalid.txt")

    assert [text for text in texts if datetimes.is_datetime(text)] == []
    assert [text for text in interop.lines("syntax/datetime_parse_invalid.txt") if parses(text)] == []


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-03-01T12:30:00Z", datetime(2026, 3, 1, 12, 30, tzinfo=UTC)),
        ("2026-03-01T12:30:00.250Z", datetime(2026, 3, 1, 12, 30, 0, 250_000, tzinfo=UTC)),
        ("2026-03-01T12:30:00.1234567890Z", datetime(2026, 3, 1, 12, 30, 0, 123_456, tzinfo=UTC)),
        ("2026-03-01T00:30:00+01:45", datetime(2026, 2, 28, 22, 45, tzinfo=UTC)),
        ("1969-12-31T23:59:59.999999Z", datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
        ("9999-12-31T23:59:59.999999Z", datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
    ],
)
def test_an_instant_is_read_in_utc(text: str, instant: datetime) -> None:
    """Whatever its offset, to the microsecond."""
    assert datetimes.parse_datetime(text) == instant
    assert datetimes.parse_datetime(text).tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "2026-02-29T00:00:00Z",
        "2026-01-01T24:30:00Z",
        "2026-06-30T23:59:60Z",
        "2026-01-01T00:00:00+29:00",
        "2026-01-01T00:00:00Z\n",
        "２０２６-01-01T00:00:00Z",
        "2026-01-01T00:00:00." + "0" * 60 + "Z",
    ],
)
def test_an_instant_out_of_range_is_a_value_error(text: str) -> None:
    """Not an overflow somewhere else."""
    with pytest.raises(ValueError, match=r"datetime|instant"):
        datetimes.parse_datetime(text)


@given(
    st.from_regex(
        r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](Z|[+-][0-2][0-9]:[0-5][0-9])"
    )
)
def test_any_datetime_parses_or_raises_value_error(text: str) -> None:
    """Strangers write them."""
    parses(text)


def parses(text: str) -> bool:
    """True when the text has the syntax and names an instant."""
    try:
        datetimes.parse_datetime(text)
    except ValueError:
        return False
    return True
