"""Selects the tables of the open data from a snapshot and its series. `schemas/exports.py` describes them.

Every table holds what `schemas/access.py` shows to everybody in discovery: public tracks of accounts that are
not hidden, without those for adults, and what other records say of these tracks.
"""

from datetime import datetime, timedelta
from typing import Final

import duckdb

from indexer.catalog.tables.comment_limit import MOST, PLACE
from schemas import exports
from schemas.datetimes import to_utc

DELETIONS_KEPT: Final = timedelta(days=90)
RECORDS: Final = ("tracks", "lists", "likes", "comments")  # whose deletions are told


def _utc(column: str) -> str:
    return f"{column} at time zone 'UTC' as {column}"


_RECORD: Final = "uri, cid, did, rkey, rev"
_TIMES: Final = ", ".join(map(_utc, ("created_at", "updated_at", "indexed_at")))
_COUNTED: Final = "least(created_at, indexed_at) at time zone 'UTC' as counted_at"
_IS_OPEN: Final = "listening = 'public' and downloads in ('open', 'ask')"

_SHOWN: Final = """
    create temp table shown as
    select key, uri, did, least(created_at, indexed_at) as counted_at
    from listed_tracks
"""
# In the order of the table's columns. `catalogue` is in use; `series` and `published` are attached.
_ROWS: Final = {
    "tracks": f"""
        select
            {_RECORD}, id, title, artist, album, description, duration, file_type,
            case when {_IS_OPEN} then audio_cid end as audio_cid,
            case when {_IS_OPEN} then audio_url end as audio_url,
            audio_mime, audio_bytes, image_cid, image_url, listening, downloads, labels, rights,
            {_TIMES}, {_COUNTED}
        from listed_tracks
    """,
    "track_tags": """
        select uri as track_uri, position, tag from track_tags join shown on key = track_key
    """,
    "track_features": """
        select uri as track_uri, position, track_features.did
        from track_features join shown on key = track_key
    """,
    "lists": f"""
        select {_RECORD}, name, list_type, description, image_cid, {_TIMES} from listed_lists
    """,
    "list_items": """
        select
            listed_lists.uri as list_uri,
            (row_number() over (partition by list_key order by position) - 1)::integer as position,
            shown.uri as track_uri
        from list_items
        join listed_lists on listed_lists.key = list_key
        join shown on shown.key = list_items.subject_key
    """,
    "likes": f"""
        select {_RECORD}, subject_uri as track_uri, {_utc("created_at")}, {_utc("indexed_at")}, {_COUNTED}
        from visible_likes where subject_key in (select key from shown)
        qualify row_number() over (partition by pair order by least(created_at, indexed_at), key) = 1
    """,
    "comments": f"""
        select {_RECORD}, subject_uri as track_uri, body, timestamp_ms, {_TIMES}, {_COUNTED}
        from (select *, {PLACE} as place from visible_comments)
        where place <= {MOST} and subject_key in (select key from shown)
    """,
    "artists": """
        select
            did, nullif(any_value(handle), 'handle.invalid') as handle,
            any_value(display_name) as display_name, min(counted_at) at time zone 'UTC' as since
        from shown
        left join (select did, handle from accounts) using (did)
        left join (select did, display_name from profiles where state = 'live') using (did)
        group by did
    """,
    "plays_hourly": """
        select uri as track_uri, hour at time zone 'UTC' as hour, plays
        from series.track_hours join shown on key = subject where plays > 0
    """,
    "daily_counts": """
        select uri as track_uri, day, likes, comments, plays
        from series.track_days join shown on key = subject where likes + comments + plays > 0
    """,
}


def write_tables(con: duckdb.DuckDBPyConnection, since: datetime, is_first: bool) -> None:
    """Write all tables into the empty database `published`. `since`: when the catalogue was in this state.

    Unless `is_first`, `before` is the previous state; records that it has and this one lacks are noted as
    deleted.
    """
    con.execute(_SHOWN)
    for table in exports.TABLES:
        columns = ", ".join(f"{name} {type_}" for name, type_, _ in table.columns)
        con.execute(f"create table published.{table.name} ({columns})")
    for name, query in _ROWS.items():
        con.execute(f"insert into published.{name} {query}")
    if not is_first:
        _note_deletions(con, since)
    con.execute("create table published.meta (schema_version integer)")
    con.execute("insert into published.meta values (?)", [exports.VERSION])


def changes_of(table: exports.Table) -> str:
    """A query of the rows that are new or changed in `published`, and of the keys that only `before` has."""
    key = ", ".join(table.key)
    return f"""
        select 'upsert' as change, * from (from published.{table.name} except all from before.{table.name})
        union all by name
        select 'delete' as change, {key}
        from before.{table.name} anti join published.{table.name} using ({key})
    """


def _note_deletions(con: duckdb.DuckDBPyConnection, since: datetime) -> None:
    now, oldest = to_utc(since), to_utc(since - DELETIONS_KEPT)
    for name in RECORDS:
        con.execute(
            f"""
            insert into published.deletions
            select '{name}', uri, $now::timestamp at time zone 'UTC'
            from before.{name} anti join published.{name} using (uri)
            union all
            from before.deletions anti join published.{name} using (uri)
            where table_name = '{name}' and deleted_at >= $oldest::timestamp at time zone 'UTC'
            """,
            {"now": now, "oldest": oldest},
        )
