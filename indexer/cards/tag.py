"""Tags -> search documents. A tag is known as long as a public track carries it."""

from collections.abc import Iterable

import duckdb

from indexer.cards.fields import Documents, findable, json, named, of_kind, searched
from schemas.ids import record_id

SEPARATOR = "\x1f"  # white space to Python, so no normalised tag holds it

TAGS = """
    select g.tag, count(*), coalesce(sum(c.plays), 0)::bigint
    from track_tags g
    join visible_tracks t on t.key = g.track_key
    left join track_counts c on c.subject_key = t.key
    where g.tag in (select unnest(string_split($names, chr(31)))) and t.visibility = 'public'
    group by g.tag
"""


def load(con: duckdb.DuckDBPyConnection, names: Iterable[str]) -> list[tuple[str, int, int]]:
    """Name, tracks and plays of those tags that are in use."""
    return con.execute(TAGS, {"names": SEPARATOR.join(names)}).fetchall()


def documents(name: str, track_count: int, total_plays: int) -> Documents:
    """The tag's documents."""
    tag_id = record_id(name)
    both = {**named("tag", f"tag:{name}", tag_id, None), "tag": [name]}
    card = {"name": name, "track_count": track_count, "total_plays": total_plays}
    hit = {"type": "tag", "id": tag_id, "name": name, "track_count": track_count}
    return Documents(
        {**both, **of_kind("tag"), "card": json(card)},
        searched("tag", both, track_count, tag_id, hit) | findable([name]),
    )
