"""Tags -> search documents. A tag is known as long as a public track carries it."""

from collections.abc import Iterable

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
from schemas.ids import record_id

SEPARATOR = "\x1f"  # white space to Python, so no normalised tag holds it

TAGS = """
    with tagged as materialized (
        select tag, track_key from track_tags where tag in (select unnest(string_split($names, chr(31))))
    ),
    tracks as materialized (
        select key
        from listed_tracks
        where key in (select track_key from tagged)
    ),
    counts as materialized (
        select subject_key, plays from track_counts where subject_key in (select key from tracks)
    )
    select tag, count(*), coalesce(sum(plays), 0)::bigint
    from tagged
    join tracks on key = track_key
    left join counts on subject_key = key
    group by tag
"""


def load_tags(con: duckdb.DuckDBPyConnection, names: Iterable[str]) -> list[tuple[str, int, int]]:
    """Name, tracks and plays of those tags that are in use."""
    return con.execute(TAGS, {"names": SEPARATOR.join(names)}).fetchall()


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
