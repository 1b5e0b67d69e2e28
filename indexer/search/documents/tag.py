"""Tags -> search documents. A tag is known as long as a public track carries it."""

from collections.abc import Iterable, Set

import duckdb

from indexer.catalog.database import join_words
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
        where did not in (select unnest(string_split($hidden, ' '))) and not {IS_ADULT}
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


def load_tags(
    con: duckdb.DuckDBPyConnection, names: Iterable[str], hidden: Set[str]
) -> list[tuple[str, int, int]]:
    """Name, tracks and plays of those tags that are in use by accounts that are not hidden."""
    values = {"names": SEPARATOR.join(names), "hidden": join_words(hidden)}
    return con.execute(TAGS, values).fetchall()


def tag_documents(name: str, track_count: int, total_plays: int) -> Documents:
    """The tag's documents."""
    tag_id = record_id(name)
    both = {**name_fields("tag", f"tag:{name}", tag_id, None), "tag": [name]}
    card = {"name": name, "track_count": track_count, "total_plays": total_plays}
    hit = {"type": "tag", "id": tag_id, "name": name, "track_count": track_count}
    return Documents(
        {**both, **of_kind("tag", unless_hidden("none")), "card": card_json(card)},
        result_fields("tag", both, track_count, tag_id, hit) | term_fields([name], scope="tag"),
    )
