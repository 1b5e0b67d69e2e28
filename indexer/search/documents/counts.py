"""Counts of tracks, and tracks' search documents when only these and the rank in searches have changed."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import duckdb
import orjson

from indexer.catalog.database import join_keys
from indexer.search.documents import track
from indexer.search.documents.fields import Documents, Fields
from indexer.search.documents.track_words import Names, words_fields
from schemas.ids import Did
from schemas.stored import Card, read_access

COUNTS = """
    select subject_key, likes, comments, plays
    from track_counts
    where subject_key in ({keys})
"""


class Counts(NamedTuple):
    """The counts of a track, named as on its card."""

    like_count: int = 0
    comment_count: int = 0
    play_count: int = 0


def load_counts(con: duckdb.DuckDBPyConnection, track_keys: Iterable[int]) -> dict[int, Counts]:
    """The counts of these tracks, by key."""
    found = con.execute(COUNTS.format(keys=join_keys(track_keys))).fetchall()
    return {key: Counts(*numbers) for key, *numbers in found}


def recount_card(packed: bytes, counted: Counts) -> Fields:
    """A track's shown document: the packed one with these counts."""
    known = Card(memoryview(packed))
    card = orjson.loads(known.card + b"}") | counted._asdict()
    thumb = b"%dx%d" % known.thumb if known.thumb else b""
    shown = track.shown_fields(known.key, card, known.access, since_on(card))
    return {**shown, "proof": known.proof, "audio": known.audio, "found_by": known.found_by, "thumb": thumb}


def ranked_documents(shown: Fields) -> Documents:
    """Both documents of a track with another rank in searches, from the shown one with the present counts."""
    card = orjson.loads(shown["card"] + b"}")
    access, names = read_access(Did(shown["did"]), shown["access"]), Names.unpack(shown["found_by"])
    return Documents(shown, words_fields(shown["key"], card, access, since_on(card), names))


def since_on(card: Mapping[str, Any]) -> datetime:
    """The instant by which a track is sorted, from its card."""
    return min(datetime.fromisoformat(card[name].rstrip("Z")) for name in ("created_at", "indexed_at"))
