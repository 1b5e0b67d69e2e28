"""Tags -> search documents. A tag is known as long as a public track carries it."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

import duckdb

from indexer.search.documents.fields import (
    Documents,
    card_json,
    name_fields,
    of_kind,
    result_fields,
    term_fields,
    unless_hidden,
)
from indexer.search.documents.labels import IS_ADULT
from schemas.ids import record_id

SEPARATOR = "\x1f"  # white space to Python, so no normalised tag holds it

# As `listed_tracks`, of those with the tags alone.
TAGS = f"""
    with tagged as materialized (
        select tag, track_key from track_tags where tag in (select unnest(string_split($names, chr(31))))
    ),
    public as materialized (
        select key, did, cid, labels
        from tracks
        where rowid in (select rowid from tracks where key in (select track_key from tagged))
          and state = 'live' and visibility = 'public'
    ),
    listed as materialized (
        select key
        from public
        where did not in (select did from hidden_accounts) and not {IS_ADULT}
    ),
    counts as materialized (
        select subject_key, plays from track_counts where subject_key in (select key from listed)
    )
    select tag, count(*), coalesce(sum(plays), 0)::bigint
    from tagged
    join listed on key = track_key
    left join counts on subject_key = key
    group by tag
"""


class TagCounts(NamedTuple):
    """How many listed tracks carry a tag, and the sum of their plays."""

    tracks: int
    plays: int


def load_tags(con: duckdb.DuckDBPyConnection, names: Collection[str]) -> Iterator[tuple[str, TagCounts]]:
    """The counts of those of these tags that a listed track carries."""
    for name, tracks, plays in con.execute(TAGS, {"names": SEPARATOR.join(names)}).fetchall():
        yield name, TagCounts(tracks, plays)


def tag_documents(name: str, counts: TagCounts) -> Documents:
    """The tag's documents."""
    tag_id = record_id(name)
    both = {**name_fields("tag", f"tag:{name}", tag_id, None), "tag": [name]}
    card = {"name": name, "track_count": counts.tracks, "total_plays": counts.plays}
    hit = {"type": "tag", "id": tag_id, "name": name, "track_count": counts.tracks}
    return Documents(
        {**both, **of_kind("tag", unless_hidden("none")), "card": card_json(card)},
        result_fields("tag", both, counts.tracks, tag_id, hit) | term_fields([name], scope="tag"),
    )
