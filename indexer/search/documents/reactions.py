"""Likes and comments -> search documents.

Names and labels of people are joined when read: they change more often.
"""

from collections.abc import Iterable, Iterator, Mapping, Set

import duckdb

from indexer.catalog.database import join_keys
from indexer.catalog.tables.comment_limit import MOST, PLACE
from indexer.catalog.tables.outbox import unpack_like
from indexer.search.documents.fields import Fields, card_json, to_milliseconds
from indexer.search.documents.labels import Labels, load_labels
from schemas.ids import ID_BITS, Did
from schemas.search_index import recent_key

# One account's like of one track, for any number of records, dated by the earliest of them.
LIKES = """
    select pair, any_value(did), any_value(subject_key), min(least(created_at, indexed_at)),
           list(rkey order by rkey)
    from likes
    where rowid in (select rowid from likes where pair in ({keys})) and state = 'live'
    group by pair
"""

# Comments within the limit per account and track.
COMMENTS = f"""
    with wanted as materialized (
        select key, uri, cid, did, id, subject_key, body, timestamp_ms, created_at, updated_at,
               least(created_at, indexed_at) as since
        from comments
        where rowid in (select rowid from comments where key in ({{keys}}))
          and state = 'live'
    ),
    placed as (
        select key, {PLACE} as place
        from comments
        where state = 'live'
          and subject_key in (select subject_key from wanted) and did in (select did from wanted)
    )
    select * from wanted where key in (select key from placed where place <= {MOST})
"""


def like_documents(
    con: duckdb.DuckDBPyConnection, pairs: Mapping[int, str | None], hidden: Set[str]
) -> Iterator[Fields]:
    """The documents of those likes that are live and not of a hidden account.

    `pairs`: the only record of each, as the outbox has it, NO_RECORD, or None: the records are looked up.
    """
    unknown = [pair for pair, record in pairs.items() if record is None]
    found = con.execute(LIKES.format(keys=join_keys(unknown))).fetchall() if unknown else []
    for pair, record in pairs.items():
        if record:
            did, subject, since, rkey = unpack_like(record)
            found.append((pair, did, subject, since, [rkey]))
    for pair, did, subject, since, rkeys in found:
        if did in hidden:
            continue
        like_id = (pair & (1 << 64) - 1) >> (64 - ID_BITS)
        yield {
            "doc": f"like:{pair}",
            "kind": "like",
            "did": did,
            "subject": subject,
            "id": like_id,
            "recent": recent_key(to_milliseconds(since), like_id),
            "card": card_json({"did": Did(did), "liked_at": since, "rkeys": rkeys}),
        }


def comment_documents(
    con: duckdb.DuckDBPyConnection, comment_keys: Iterable[int], hidden: Set[str]
) -> Iterable[Fields]:
    """The documents of those comments that are live, within the limit and not of a hidden account."""
    rows = con.execute(COMMENTS.format(keys=join_keys(comment_keys))).fetchall()
    labels = load_labels(con, (), [key for key, *_ in rows]) if rows else Labels()
    for row in rows:
        key, uri, cid, did, comment_id, subject, body, moment, created_at, updated_at, since = row
        if did in hidden:
            continue
        card = {
            "id": comment_id,
            "uri": uri,
            "user_did": did,
            "text": body,
            "timestamp_ms": moment,
            "created_at": created_at,
            "updated_at": updated_at,
            "label_details": labels.of(did, key, cid),
        }
        yield {
            "doc": f"comment:{key}",
            "kind": "comment",
            "did": did,
            "subject": subject,
            "id": comment_id,
            "recent": recent_key(to_milliseconds(since), comment_id),
            "at": recent_key(moment, comment_id),
            "card": card_json(card),
        }
