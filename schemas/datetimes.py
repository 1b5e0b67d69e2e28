"""The protocol's datetime strings: a strict subset of RFC 3339, with a timezone always.

Syntax rules: https://atproto.com/specs/lexicon#datetime.
"""

import re
from datetime import UTC, datetime

_DATETIME = re.compile(
    r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](?:\.[0-9]{1,20})?"
    r"(?:Z|[+-][0-2][0-9]:[0-5][0-9])"
)


def is_datetime(text: str) -> bool:
    """True for the right shape, even of an instant that no calendar has, such as month 13."""
    return len(text) <= 64 and _DATETIME.fullmatch(text) is not None and not text.endswith("-00:00")


def parse_datetime(text: str) -> datetime:
    """The UTC instant, cut to microseconds. Raises ValueError for bad syntax and years outside 1 to 9999."""
    if not is_datetime(text):
        raise ValueError("must be a datetime with a timezone, such as 2026-01-31T12:00:00.000Z")
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(
            "names an instant that does not exist or lies outside the years 1 to 9999"
        ) from error
