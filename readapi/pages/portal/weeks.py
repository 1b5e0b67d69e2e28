"""The weeks that the Portal's numbers cover, and the charts of them."""

from datetime import datetime, timedelta
from typing import Final

from readapi.errors import IndexNotReady
from readapi.index import buckets
from readapi.index.queries import series
from readapi.index.queries.series import Span
from readapi.index.snapshots.interface import SeriesFiles
from readapi.pages.portal import numbers
from readapi.pages.public.data_views import Chart
from schemas import datetimes

WEEKS: Final = 26


def last_weeks() -> Span:
    """The last 26 weeks, this one included."""
    now: datetime = datetimes.this_minute()
    return series.make_span("plays", "week", buckets.begin_of(now, "week") - timedelta(weeks=WEEKS - 1), now)


async def draw_track(files: SeriesFiles, track_key: int) -> list[Chart]:
    """The charts of one track's plays, likes and comments; none as long as nothing has been counted."""
    span = last_weeks()
    try:
        weeks, _ = await series.count_weeks(files, "track", [track_key], span)
    except IndexNotReady:
        return []
    return numbers.draw_charts(span.begins, weeks)
