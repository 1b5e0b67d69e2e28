"""Tracks' searchable documents when only their rank has changed: from the card, without the rest of the row.

Rows that lie apart cost much in a large catalogue: DuckDB unpacks 2,048 values of each column for one.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import duckdb
import orjson

from indexer.catalog.database import join_keys
from indexer.search.documents import people
from indexer.search.documents.counts import since_on
from indexer.search.documents.fields import Documents, Fields
from indexer.search.documents.people import Person
from indexer.search.documents.track_words import Texts, words_fields
from schemas.ids import Did
from schemas.stored import read_access

# What the card does not show as the record has it.
TEXTS = """
    select key, artist, album
    from tracks
    where rowid in (select rowid from tracks where key in ({keys})) and state in ('live', 'withheld')
"""

RecordTexts = Mapping[int, tuple[str, str | None]]


class RankedTrack:
    """A track by its shown document, whose counts are the present ones. `people`: its artist and features."""

    def __init__(self, shown: Fields) -> None:
        self._shown = shown
        self._card: dict[str, Any] = orjson.loads(shown["card"] + b"}")
        self.did = Did(shown["did"])
        self.people = [self.did, *(person["did"] for person in self._card["features"])]

    def documents(self, texts: RecordTexts, known: Mapping[str, Person]) -> Documents:
        """Both documents. A record that was deleted since has no texts; the entry of that follows."""
        key = self._shown["key"]
        if key not in texts:
            return Documents(self._shown, None)
        owner, *features = [known.get(did) or people.unknown_person(did) for did in self.people]
        access = read_access(self.did, self._shown["access"])
        named = Texts(*texts[key], owner, features)
        return Documents(self._shown, words_fields(key, self._card, access, since_on(self._card), named))


def load_texts(con: duckdb.DuckDBPyConnection, track_keys: Iterable[int]) -> RecordTexts:
    """The artist and the album that the records of these tracks name, by key."""
    found = con.execute(TEXTS.format(keys=join_keys(track_keys))).fetchall()
    return {key: (artist, album) for key, artist, album in found}
