"""Buckets of time: hours, days, weeks, months in UTC, and how many of them lie between two instants. Pure."""

from datetime import UTC, date, datetime, timedelta
from itertools import takewhile
from typing import Final, Literal

from schemas import datetimes

Bucket = Literal["hour", "day", "week", "month"]  # weeks begin on Monday
MOST: Final = 1_000
BY_DEFAULT: Final = 30
YEARS: Final = range(1970, 2200)
_LONGEST: Final = {
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
    "month": timedelta(days=31),
}


def read_instant(text: str) -> datetime:
    """A date, which is its midnight in UTC, or a datetime with a timezone. Raises ValueError."""
    try:
        instant = datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC)
    except ValueError:
        instant = datetimes.parse_datetime(text)
    if instant.year not in YEARS:
        raise ValueError(f"must lie in the years {YEARS[0]} to {YEARS[-1]}")
    return instant


def begin_of(instant: datetime, bucket: Bucket) -> datetime:
    """The beginning of the bucket that the instant is in."""
    hour = instant.replace(minute=0, second=0, microsecond=0)
    day = hour.replace(hour=0)
    match bucket:
        case "hour":
            return hour
        case "day":
            return day
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)


def after(begin: datetime, bucket: Bucket) -> datetime:
    """The beginning of the next bucket."""
    return begin_of(begin + _LONGEST[bucket], bucket)


def default_begin(until: datetime, bucket: Bucket) -> datetime:
    """The beginning of the first of BY_DEFAULT buckets; the last has the time just before `until`."""
    last = begin_of(until - timedelta(microseconds=1), bucket)
    if bucket == "month":
        months = last.year * 12 + last.month - BY_DEFAULT
        return last.replace(year=months // 12, month=months % 12 + 1)
    return last - _LONGEST[bucket] * (BY_DEFAULT - 1)


def between(since: datetime, until: datetime, bucket: Bucket) -> list[datetime]:
    """The beginnings of all buckets that have a part of this time; at most one more than MOST."""
    begins = [begin_of(since, bucket)]
    while len(begins) <= MOST:
        begins.append(after(begins[-1], bucket))
    return list(takewhile(lambda begin: begin < until, begins))
