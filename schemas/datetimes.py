"""The protocol's datetime strings: a strict subset of RFC 3339, with a timezone always.

Syntax rules: https://atproto.com/specs/lexicon#datetime.
"""

import calendar
import re
from datetime import UTC, datetime, timedelta
from typing import Final

BEGINNING: Final = datetime(1, 1, 1, tzinfo=UTC)
LAST_DAY: Final = 31

_DATETIME = re.compile(
    r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](?:\.[0-9]{1,20})?"
    r"(?:Z|[+-][0-2][0-9]:[0-5][0-9])"
)


def is_datetime(text: str) -> bool:
    """True for the right shape, even of an instant that no calendar has, such as month 13."""
    return len(text) <= 64 and _DATETIME.fullmatch(text) is not None and not text.endswith("-00:00")


def parse_datetime(text: str) -> datetime:
    """The UTC instant, cut to microseconds. Raises ValueError for bad syntax or an impossible instant.

    Interpreted as other servers do, so that no record is hidden that they show: a day after the end of its
    month falls in the next month; the year 0, which Python does not support, is read as the beginning of year
    1.
    """
    if not is_datetime(text):
        raise ValueError("must be a datetime with a timezone, such as 2026-01-31T12:00:00.000Z")
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    try:
        return _unusual(text)
    except (ValueError, OverflowError) as error:
        raise ValueError(
            "names an instant that does not exist or lies outside the years 0 to 9999"
        ) from error


def _unusual(text: str) -> datetime:
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:10])
    if day > LAST_DAY:
        raise ValueError("no month has that day")
    # Gregorian years repeat, so that the years 0 and 1 can be reckoned with as if they were 2000 and 2001.
    shift = 2000 if year < 2 else 0
    over = max(0, day - calendar.monthrange(year + shift, month)[1])
    local = datetime.fromisoformat(f"{year + shift:04}{text[4:8]}{day - over:02}{text[10:]}")
    instant = (local + timedelta(days=over)).astimezone(UTC)
    if instant.year < shift:
        raise ValueError("lies before the year 0")
    if not shift:
        return instant
    return BEGINNING if instant.year == shift else instant.replace(year=instant.year - shift)


def to_utc(instant: datetime | None) -> datetime | None:
    """The instant as the catalogue stores it: in UTC, without a timezone."""
    if instant is None:
        return None
    there = instant if instant.tzinfo is UTC else instant.astimezone(UTC)
    # A quarter of the time that replacing the timezone takes.
    return datetime.combine(there.date(), there.time())


def render(instant: datetime) -> str:
    """The instant to the millisecond, such as `2026-01-31T12:00:00.000Z`. Without a timezone it is UTC."""
    aware = instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    return aware.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def now() -> datetime:
    """The current time, UTC."""
    return datetime.now(UTC)


def this_minute() -> datetime:
    """The instant at which the current minute began, UTC."""
    return datetime.now(UTC).replace(second=0, microsecond=0)
