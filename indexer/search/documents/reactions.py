"""Likes and comments -> search documents. Names of people are joined when read: they change more often."""

from collections.abc import Iterable

import duckdb

from indexer.catalog.database import join_keys
from indexer.catalog.tables.comment_limit import MOST, PLACE
from indexer.search.documents.fields import Fields, card_json, to_milliseconds
from schemas.ids import ID_BITS, Did
from schemas.search_index import recent_key

# One account's like of one track, for any number of records, dated by the earliest of them. The DID is
# read from the newest row, among recently written ones: strings cost more to read than numbers.
LIKES = """
    with standing as materialized (
        select pair, list(rowid) as places, any_value(subject_key) as subject_key,
               min(least(created_at, indexed_at)) as since
        from likes
        where rowid in (select rowid from likes where pair in ({keys})) and state = 'live'
        group by pair
    ),
    placed as (
        select pair, unnest(places) as place, subject_key, since from standing
    )
    select placed.pair, any_value(did), any_value(placed.subject_key), any_value(since),
           list(rkey order by rkey)
    from placed
    join likes on likes.rowid = place
    where did not in (select did from hidden_accounts)
    group by placed.pair
"""

# Comments within the limit per account and track.
COMMENTS = f"""
    with wanted as materialized (
        select key, uri, did, id, subject_key, body, timestamp_ms, created_at, updated_at,
               least(created_at, indexed_at) as since
        from comments
        where rowid in (select rowid from comments where key in ({{keys}}))
          and state = 'live' and did not in (select did from hidden_accounts)
    ),
    placed as (
        select key, {PLACE} as place
        from comments
        where state = 'live'
          and subject_key in (select subject_key from wanted) and did in (select did from wanted)
    )
    select * from wanted where key in (select key from placed where place <= {MOST})
"""


def like_documents(con: duckdb.DuckDBPyConnection, pairs: Iterable[int]) -> Iterable[Fields]:
    """The documents of the visible likes."""
    for pair, did, subject, since, rkeys in con.execute(LIKES.format(keys=join_keys(pairs))).fetchall():
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


def comment_documents(con: duckdb.DuckDBPyConnection, comment_keys: Iterable[int]) -> Iterable[Fields]:
    """The documents of the visible comments within the limit."""
    for row in con.execute(COMMENTS.format(keys=join_keys(comment_keys))).fetchall():
        key, uri, did, comment_id, subject, body, moment, created_at, updated_at, since = row
        card = {
            "id": comment_id,
            "uri": uri,
            "user_did": did,
            "text": body,
            "timestamp_ms": moment,
            "created_at": created_at,
            "updated_at": updated_at,
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
