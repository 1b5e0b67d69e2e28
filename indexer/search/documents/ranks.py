"""Tracks' searchable documents when only their rank has changed: from the card, without the rest of the row.

Rows that lie apart cost much in a large catalogue: DuckDB unpacks 2,048 values of each column for one.
"""

from collections.abc import Iterable, Iterator, Mapping

import duckdb
import orjson

from indexer.catalog.database import join_keys
from indexer.search.documents import people
from indexer.search.documents.counts import since_on
from indexer.search.documents.fields import Fields
from indexer.search.documents.people import Person
from indexer.search.documents.track import Texts, words_fields
from schemas.ids import Did
from schemas.stored import read_access

# What the card does not show as the record has it.
TEXTS = """
    select key, artist, album
    from tracks
    where rowid in (select rowid from tracks where key in ({keys})) and state in ('live', 'withheld')
"""

RecordTexts = Mapping[int, tuple[str, str | None]]


def load_texts(con: duckdb.DuckDBPyConnection, track_keys: Iterable[int]) -> RecordTexts:
    """The artist and the album that the records of these tracks name, by key."""
    found = con.execute(TEXTS.format(keys=join_keys(track_keys))).fetchall()
    return {key: (artist, album) for key, artist, album in found}


def people_on(shown: Fields) -> Iterator[str]:
    """The DIDs of a track's artist and features, from its shown document."""
    yield shown["did"]
    for person in orjson.loads(shown["card"] + b"}")["features"]:
        yield person["did"]


def words_document(shown: Fields, texts: RecordTexts, known: Mapping[str, Person]) -> Fields | None:
    """The searchable document of a track, by its shown one; None where a search does not find it.

    A record that was deleted since has no texts; the entry of that follows.
    """
    if shown["key"] not in texts:
        return None
    card = orjson.loads(shown["card"] + b"}")
    artist, album = texts[shown["key"]]
    owner, *features = [known.get(did) or people.unknown_person(did) for did in people_on(shown)]
    access = read_access(Did(shown["did"]), shown["access"])
    return words_fields(shown["key"], card, access, since_on(card), Texts(artist, album, owner, features))
