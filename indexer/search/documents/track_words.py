"""What a track is found by: the searchable document's fields, from its card and what that does not show."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Self

import orjson

from indexer.search.documents.fields import Fields, name_fields, result_fields, term_fields
from indexer.search.documents.people import Person
from schemas.access import Access, may_see
from schemas.search_index import Scope


class Names(NamedTuple):
    """What a track is found by besides its card: every name of its artists, and the album in its record.

    They are stored with the shown document, so that a new rank asks the catalogue for nothing: rows that lie
    apart cost much in a large one.
    """

    artists: Sequence[str]
    album: str | None

    @classmethod
    def of(cls, artist: str, album: str | None, owner: Person, features: Sequence[Person]) -> Self:
        """The names of a record: `artist` and `album` as it has them, its account, and who it features."""
        featured = [name for person in features for name in person.names]
        return cls([*owner.names, artist, *featured], album)

    @classmethod
    def unpack(cls, packed: bytes) -> Self:
        """The names that `pack` gave."""
        return cls(*orjson.loads(packed))

    def pack(self) -> bytes:
        """As JSON, to be stored."""
        return orjson.dumps(list(self))


def words_fields(
    key: int, card: Mapping[str, Any], access: Access, since: datetime, names: Names
) -> Fields | None:
    """The searchable document's fields; None for a track that searches do not show."""
    if not may_see(access, None, "search", adult=True):
        return None
    name = name_fields("track", f"track:{key}", card["id"], since)
    counted, is_adult = card["like_count"] + card["play_count"], access.labelled == "adult"
    hit = {
        "type": "track",
        "id": card["id"],
        "title": card["title"],
        "artist_handle": card["artist_handle"],
        "artist_display_name": card["artist"],
        "image_url": card["image_url"],
    }
    found = result_fields("track", name, counted, card["id"], hit, adult=is_adult)
    return {**found, "did": access.artist, "tag": card["tags"], **_found_by(card, names)}


def _found_by(card: Mapping[str, Any], names: Names) -> Fields:
    """The search terms of the track: title, people, albums, tags, description."""
    albums = [names.album or "", card["album"]["title"] if card["album"] else ""]
    beside: dict[Scope, Sequence[str]] = {"artist": names.artists, "album": albums, "tag": card["tags"]}
    return term_fields([card["title"]], beside, card["description"])
