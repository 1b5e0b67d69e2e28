"""Datetimes follow the protocol's syntax; what no calendar has is a ValueError."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import datetimes
from tests import interop


def test_valid_datetimes_of_the_public_vectors_parse() -> None:
    """All of them."""
    assert [text for text in interop.lines("syntax/datetime_syntax_valid.txt") if not parses(text)] == []


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
        "0000-01-01T00:00:00+01:00",
        "0000-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "2026-01-32T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-02-30T24:00:00Z",
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


# What @atproto/syntax 0.4 takes, and reads as JavaScript reads it.
UNUSUAL = {
    "2026-02-29T12:00:00Z": datetime(2026, 3, 1, 12, tzinfo=UTC),
    "2026-02-30T00:00:00Z": datetime(2026, 3, 2, tzinfo=UTC),
    "2026-02-31T00:00:00Z": datetime(2026, 3, 3, tzinfo=UTC),
    "2024-02-30T00:00:00Z": datetime(2024, 3, 1, tzinfo=UTC),
    "2026-04-31T00:00:00.5+02:00": datetime(2026, 4, 30, 22, 0, 0, 500_000, tzinfo=UTC),
    "0001-02-30T00:00:00Z": datetime(1, 3, 2, tzinfo=UTC),
    "0000-01-01T00:00:00Z": datetimes.BEGINNING,
    "0000-12-31T23:59:59Z": datetimes.BEGINNING,
    "0001-01-01T00:00:00+00:01": datetimes.BEGINNING,
    "0000-12-31T23:59:59-00:01": datetime(1, 1, 1, 0, 0, 59, tzinfo=UTC),
    "0001-01-01T01:00:00+00:30": datetime(1, 1, 1, 0, 30, tzinfo=UTC),
}


@pytest.mark.parametrize(("text", "instant"), UNUSUAL.items())
def test_what_the_networks_servers_take_hides_no_record(text: str, instant: datetime) -> None:
    """A day too many is one of the next month; before the year 1 there is only its beginning."""
    assert datetimes.parse_datetime(text) == instant


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
