"""The most liked tracks of a period."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from operator import itemgetter
from typing import Literal

from readapi.index.lookups import Index
from readapi.index.paging import batch_sizes
from readapi.index.queries import tracks
from readapi.index.snapshots.interface import Snapshots
from schemas.access import Viewer
from schemas.stored import Card

Period = Literal["all_time", "month", "week", "day"]
MOST = 100
_DAYS = {"month": 30, "week": 7, "day": 1}

# `{tracks}`: the view of those that everybody is told of, or the one that has tracks for adults, too.
EVER = """
    select tracks.id
    from track_counts as counts
    join {tracks} as tracks on tracks.key = counts.subject_key
    where tracks.visibility = 'public' and counts.likes > 0
    order by counts.likes desc, least(tracks.created_at, tracks.indexed_at) desc, tracks.id
    limit $most
"""

SINCE = """
    with liked as (
        select subject_key, count(distinct pair) as people
        from visible_likes
        where least(created_at, indexed_at) >= $since
        group by subject_key
    )
    select tracks.id
    from liked
    join {tracks} as tracks on tracks.key = liked.subject_key
    where tracks.visibility = 'public'
    order by liked.people desc, least(tracks.created_at, tracks.indexed_at) desc, tracks.id
    limit $most
"""


# Whether tracks for adults are among them -> the statement.
_EVER, _SINCE = (
    {False: query.format(tracks="listed_tracks"), True: query.format(tracks="visible_tracks")}
    for query in (EVER, SINCE)
)
_FIRST = itemgetter(0)


async def find_top_tracks(
    catalog: Snapshots, period: Period, until: datetime, *, adult: bool = False
) -> tuple[list[int], datetime]:
    """Ids of the most liked tracks, at most MOST, and when their likes were counted.

    A period ends at `until`, which ages quiet ones too.
    """
    if period == "all_time":
        rows, as_of = await catalog.rows(_EVER[adult], most=MOST)
    else:
        since = until.replace(tzinfo=None) - timedelta(days=_DAYS[period])
        rows, as_of = await catalog.rows(_SINCE[adult], since=since, most=MOST)
    return list(map(_FIRST, rows)), as_of


def first_visible(
    index: Index, track_ids: Sequence[int], viewer: Viewer | None, limit: int, *, adult: bool = False
) -> list[Card]:
    """The first `limit` of these tracks that the viewer may see. Reads no more of them than it has to."""
    rest = iter(track_ids)
    found: list[Card] = []
    for size in batch_sizes(limit):
        batch = list(islice(rest, size))
        found += tracks.filter_visible(index.tracks_by_id(batch), viewer, "discovery", adult=adult)
        if len(found) >= limit or not batch:
            break
    return found[:limit]
