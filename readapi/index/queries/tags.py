"""Tags and how much they are used."""

from bisect import bisect_left
from dataclasses import dataclass
from datetime import datetime
from heapq import nsmallest
from operator import itemgetter

import orjson

from readapi.errors import NotFound
from readapi.index.lookups import Index
from readapi.index.snapshots.interface import Snapshots
from schemas.api.tags import TagHead
from schemas.ids import normalise_tag

WELL_USED = 10_000  # tags that are counted once for everybody

COUNTED = """
    select tags.tag, count(*) as tracks, coalesce(sum(counts.plays), 0)::bigint as plays
    from track_tags as tags
    join listed_tracks as tracks on tracks.key = tags.track_key
    left join track_counts as counts on counts.subject_key = tags.track_key
    where starts_with(tags.tag, $beginning)
    group by tags.tag
    order by count(*) desc, tags.tag
    limit $most
"""


# In the order of code points, so that those with a prefix follow one another, each with its place by use.
BY_NAME = f"""
    select tag, tracks, plays, row_number() over (order by tracks desc, tag)
    from ({COUNTED})
    order by tag
"""
_AFTER_ALL = "\U0010ffff"  # after every character that a tag has
_PLACE = itemgetter(3)


@dataclass(slots=True)
class UsedTag:
    """A `Tag` of an answer, which is written without being validated."""

    name: str
    track_count: int
    total_plays: int


async def count_tags(catalog: Snapshots, prefix: str, limit: int) -> tuple[list[UsedTag], datetime]:
    """The most used tags with this prefix, and when they were counted."""
    beginning = normalise_tag(prefix)
    if not beginning:
        used, as_of = await catalog.rows(COUNTED, beginning="", most=WELL_USED)
        return [UsedTag(*row) for row in used[:limit]], as_of
    named, as_of = await catalog.rows(BY_NAME, beginning="", most=WELL_USED)
    first, end = bisect_left(named, (beginning,)), bisect_left(named, (beginning + _AFTER_ALL,))
    if end - first < limit and len(named) == WELL_USED:
        # Any that are left are used less than all of these.
        used, as_of = await catalog.rows(COUNTED, beginning=beginning, most=limit)
        return [UsedTag(*row) for row in used], as_of
    best = nsmallest(limit, named[first:end], key=_PLACE)
    return [UsedTag(*row[:3]) for row in best], as_of


def find_tag(index: Index, name: str) -> TagHead:
    """The tag, however it is spelt. Raises NotFound when no public track carries it."""
    card = index.tag(name)
    if card is None:
        raise NotFound("No public track carries this tag.")
    known = orjson.loads(card.card)
    return TagHead(name=known["name"], track_count=known["track_count"])
