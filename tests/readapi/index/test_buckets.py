"""Buckets are whole, in UTC, and no more than an answer may have."""

import itertools
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readapi.index import buckets
from readapi.index.buckets import Bucket

KINDS: tuple[Bucket, ...] = ("hour", "day", "week", "month")
DAYS = st.dates(date(1970, 1, 1), date(2199, 12, 31))
INSTANTS = st.builds(datetime.combine, DAYS, st.times(), st.just(UTC))


@pytest.mark.parametrize(
    ("bucket", "begin", "end"),
    [
        ("hour", "2026-03-31T23:00:00Z", "2026-04-01"),
        ("day", "2026-03-31", "2026-04-01"),
        ("week", "2026-03-30", "2026-04-06"),
        ("month", "2026-03-01", "2026-04-01"),
    ],
)
def test_a_bucket_begins_where_the_calendar_says(bucket: Bucket, begin: str, end: str) -> None:
    """Weeks on Monday, months on the first."""
    found = buckets.begin_of(buckets.read_instant("2026-04-01T01:30:00+02:00"), bucket)

    assert found == buckets.read_instant(begin)
    assert buckets.after(found, bucket) == buckets.read_instant(end)


@given(instant=INSTANTS, days=st.integers(0, 4000), bucket=st.sampled_from(KINDS))
def test_buckets_cover_the_time_without_gaps(instant: datetime, days: int, bucket: Bucket) -> None:
    """The first has its beginning in it, the last its end, each follows the one before."""
    until = instant + timedelta(days=days, seconds=1)
    begins = buckets.between(instant, until, bucket)

    assert begins[0] <= instant < buckets.after(begins[0], bucket)
    assert all(buckets.after(one, bucket) == two for one, two in itertools.pairwise(begins))
    assert len(begins) <= buckets.MOST + 1
    if len(begins) <= buckets.MOST:
        assert begins[-1] < until <= buckets.after(begins[-1], bucket)


@given(instant=INSTANTS, bucket=st.sampled_from(KINDS))
def test_without_a_beginning_there_are_thirty(instant: datetime, bucket: Bucket) -> None:
    """With the one that ends, or is under way, at the end."""
    begins = buckets.between(buckets.default_begin(instant, bucket), instant, bucket)

    assert len(begins) == buckets.BY_DEFAULT
    assert begins[0] == buckets.default_begin(instant, bucket)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-02-30", "2026-13-01", "1969-12-31", "2200-01-01", "2026-01-01T00:00:00"]
)
def test_other_texts_are_no_instants(text: str) -> None:
    """Nor are times without a timezone, and those of which no bucket is wanted."""
    with pytest.raises(ValueError, match=r"must|names|lies"):
        buckets.read_instant(text)
