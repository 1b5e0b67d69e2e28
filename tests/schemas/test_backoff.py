"""Pauses double up to the longest and are spread; Retry-After is a number of seconds or a date."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from schemas.backoff import Backoff, parse_retry_after


@pytest.mark.parametrize(("failures", "full"), [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (10**6, 60)])
def test_pauses_double_up_to_the_longest(failures: int, full: float) -> None:
    assert Backoff(first_seconds=1, longest_seconds=60).full_pause(failures) == full


def test_pauses_are_spread_over_the_upper_half() -> None:
    """So that what failed at one moment is not tried again at one moment."""
    pauses = [Backoff(first_seconds=30, longest_seconds=3600).pause(2) for _ in range(200)]

    assert all(30 <= pause <= 60 for pause in pauses)
    assert max(pauses) - min(pauses) > 10


def test_a_bound_shortens_both_the_first_and_the_longest() -> None:
    backoff = Backoff(first_seconds=30, longest_seconds=3600)

    assert backoff.within(None) == backoff
    assert backoff.within(5) == Backoff(5, 5)
    assert backoff.within(60) == Backoff(30, 60)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 0.0),
        ("soon", None),
        ("", None),
        ("-5", None),
    ],
)
def test_retry_after_is_read(header: str, seconds: float | None) -> None:
    assert parse_retry_after(header) == seconds


def test_a_date_to_come_is_seconds_from_now() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)

    assert 3000 < (parse_retry_after(later) or 0) <= 3600
