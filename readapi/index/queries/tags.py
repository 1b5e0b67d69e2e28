"""Tags and how much they are used."""

from dataclasses import dataclass
from datetime import datetime
from itertools import islice

import orjson

from readapi.errors import NotFound
from readapi.index.lookups import Index
from readapi.index.snapshots import Snapshots
from schemas.api.tags import TagHead
from schemas.ids import normalise_tag

WELL_USED = 10_000  # tags that are counted once for everybody: of these one millisecond finds what begins so

COUNTED = """
    select tags.tag, count(*), coalesce(sum(counts.plays), 0)::bigint
    from track_tags as tags
    join listed_tracks as tracks on tracks.key = tags.track_key
    left join track_counts as counts on counts.subject_key = tags.track_key
    where starts_with(tags.tag, $beginning)
    group by tags.tag
    order by count(*) desc, tags.tag
    limit $most
"""


@dataclass(slots=True)
class UsedTag:
    """A `Tag` of an answer, which is written without being validated."""

    name: str
    track_count: int
    total_plays: int


async def count_tags(catalog: Snapshots, prefix: str, limit: int) -> tuple[list[UsedTag], datetime]:
    """The most used tags with this prefix, and when they were counted."""
    beginning = normalise_tag(prefix)
    used, as_of = await catalog.rows(COUNTED, beginning="", most=WELL_USED)
    found = list(islice((row for row in used if row[0].startswith(beginning)), limit))
    if len(found) < limit and len(used) == WELL_USED:
        # Any that are left are used less than all of these.
        found, as_of = await catalog.rows(COUNTED, beginning=beginning, most=limit)
    return [UsedTag(*row) for row in found], as_of


def find_tag(index: Index, name: str) -> TagHead:
    """The tag, however it is spelt. Raises NotFound when no public track carries it."""
    card = index.tag(name)
    if card is None:
        raise NotFound("No public track carries this tag.")
    known = orjson.loads(card.card)
    return TagHead(name=known["name"], track_count=known["track_count"])
