"""The tables of the open data, column by column, as the exports' manifest describes them.

A change of a column raises VERSION: the next export is then a full one.
"""

from typing import Final, NamedTuple

VERSION: Final = 1


class Column(NamedTuple):
    """A column, its type as DuckDB names it, and what its values mean."""

    name: str
    type: str
    description: str


class Table(NamedTuple):
    """A table. No two of its rows have the same values in the columns of `key`."""

    name: str
    key: tuple[str, ...]
    description: str
    columns: tuple[Column, ...]


_RECORD: Final = (
    Column("uri", "VARCHAR", "at-uri of the record."),
    Column("cid", "VARCHAR", "CID of the record's version."),
    Column("did", "VARCHAR", "Account whose repository holds the record."),
    Column("rkey", "VARCHAR", "Record key: the last part of the at-uri."),
    Column("rev", "VARCHAR", "Revision of the commit that wrote this version, a TID."),
)
_CLAIMED: Final = Column("created_at", "TIMESTAMPTZ", "When it was created, as the record claims.")
_UPDATED: Final = Column("updated_at", "TIMESTAMPTZ", "When it was last changed; null: never, or not known.")
_INDEXED: Final = Column("indexed_at", "TIMESTAMPTZ", "When it was written, by its record key or its rev.")
_COUNTED: Final = Column(
    "counted_at",
    "TIMESTAMPTZ",
    "The instant at which statistics count it: created_at or indexed_at, the earlier.",
)
_TIMES: Final = (_CLAIMED, _UPDATED, _INDEXED)
_TRACK: Final = Column("track_uri", "VARCHAR", "at-uri of the track.")

TABLES: Final = (
    Table(
        "tracks",
        ("uri",),
        "Public tracks.",
        (
            *_RECORD,
            Column("id", "BIGINT", "The track's number in this service's API: /tracks/{id}."),
            Column("title", "VARCHAR", "Title."),
            Column("artist", "VARCHAR", "Name of the artist, as the record has it."),
            Column("album", "VARCHAR", "Name of the album, as the record has it; null: none."),
            Column("description", "VARCHAR", "Description; null: none."),
            Column("duration", "INTEGER", "Length in seconds; null: not known."),
            Column("file_type", "VARCHAR", "Format of the audio, such as mp3."),
            Column("audio_cid", "VARCHAR", "CID of the audio; null unless everybody may download it."),
            Column("audio_url", "VARCHAR", "URL of the audio; null unless everybody may download it."),
            Column("audio_mime", "VARCHAR", "Media type of the audio."),
            Column("audio_bytes", "BIGINT", "Size of the audio in bytes; null: not known."),
            Column("image_cid", "VARCHAR", "CID of the cover; null: none."),
            Column("image_url", "VARCHAR", "URL of the cover; null: none."),
            Column("listening", "VARCHAR", "Who may hear it: public, signed_in, supporters or owner."),
            Column("downloads", "VARCHAR", "Who may download it: open, ask, supporters or off."),
            Column("labels", "VARCHAR[]", "The artist's own labels of the content."),
            Column("rights", "VARCHAR", "Rights as the record states them, in JSON; null: none."),
            *_TIMES,
            _COUNTED,
        ),
    ),
    Table(
        "track_tags",
        ("track_uri", "position"),
        "Tags of tracks.",
        (
            _TRACK,
            Column("position", "INTEGER", "Place of the tag in the record, from 0."),
            Column("tag", "VARCHAR", "The tag, in lower case."),
        ),
    ),
    Table(
        "track_features",
        ("track_uri", "position"),
        "Accounts that tracks name as featured.",
        (
            _TRACK,
            Column("position", "INTEGER", "Place of the account in the record, from 0."),
            Column("did", "VARCHAR", "The featured account."),
        ),
    ),
    Table(
        "lists",
        ("uri",),
        "Albums and playlists.",
        (
            *_RECORD,
            Column("name", "VARCHAR", "Name."),
            Column("list_type", "VARCHAR", "album or playlist."),
            Column("description", "VARCHAR", "Description; null: none."),
            Column("image_cid", "VARCHAR", "CID of the cover; null: none."),
            *_TIMES,
        ),
    ),
    Table(
        "list_items",
        ("list_uri", "position"),
        "Public tracks of albums and playlists, in their order.",
        (
            Column("list_uri", "VARCHAR", "at-uri of the album or playlist."),
            Column("position", "INTEGER", "Place among the list's public tracks, from 0."),
            _TRACK,
        ),
    ),
    Table(
        "likes",
        ("uri",),
        "Likes of public tracks: of several by one account of one track, the first.",
        (*_RECORD, _TRACK, _CLAIMED, _INDEXED, _COUNTED),
    ),
    Table(
        "comments",
        ("uri",),
        "Comments on public tracks, up to the service's limit per account and track.",
        (
            *_RECORD,
            _TRACK,
            Column("body", "VARCHAR", "Text."),
            Column("timestamp_ms", "BIGINT", "The moment of the track that it is about, in milliseconds."),
            *_TIMES,
            _COUNTED,
        ),
    ),
    Table(
        "artists",
        ("did",),
        "Accounts with public tracks.",
        (
            Column("did", "VARCHAR", "The account."),
            Column("handle", "VARCHAR", "Handle, checked in both directions; null: none that holds."),
            Column("display_name", "VARCHAR", "Name on the profile; null: none."),
            Column("since", "TIMESTAMPTZ", "When the first of the public tracks counts."),
        ),
    ),
    Table(
        "plays_hourly",
        ("track_uri", "hour"),
        "Plays of public tracks at this service. Hours without plays have no row.",
        (
            _TRACK,
            Column("hour", "TIMESTAMPTZ", "Beginning of the hour."),
            Column("plays", "INTEGER", "How often it was played in this hour."),
        ),
    ),
    Table(
        "daily_counts",
        ("track_uri", "day"),
        "What public tracks got on each day, in UTC. Days without any have no row.",
        (
            _TRACK,
            Column("day", "DATE", "The day, in UTC."),
            Column("likes", "INTEGER", "Accounts whose like counts on this day."),
            Column("comments", "INTEGER", "Comments that count on this day."),
            Column("plays", "INTEGER", "Plays at this service."),
        ),
    ),
    Table(
        "deletions",
        ("table_name", "uri"),
        "What was in an earlier export and is no longer public: deleted, hidden, or of an account that left. "
        "Kept for 90 days.",
        (
            Column("table_name", "VARCHAR", "tracks, lists, likes or comments."),
            Column("uri", "VARCHAR", "at-uri of the record."),
            Column("deleted_at", "TIMESTAMPTZ", "When an export was first without it."),
        ),
    ),
)
