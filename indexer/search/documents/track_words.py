"""What a track is found by: the searchable document's fields, from its card and what that does not show."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from indexer.search.documents.fields import Fields, name_fields, result_fields, term_fields
from indexer.search.documents.people import Person
from schemas.access import Access, may_see
from schemas.search_index import Scope


class Texts(NamedTuple):
    """What a track is found by besides its card: artist and album as in the record, and people."""

    artist: str
    album: str | None
    owner: Person
    features: Sequence[Person]


def words_fields(
    key: int, card: Mapping[str, Any], access: Access, since: datetime, texts: Texts
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
    return {**found, "did": access.artist, "tag": card["tags"], **_found_by(card, texts)}


def _found_by(card: Mapping[str, Any], texts: Texts) -> Fields:
    """The search terms of the track: title, people, albums, tags, description."""
    featured = [name for person in texts.features for name in person.names]
    albums = [texts.album or "", card["album"]["title"] if card["album"] else ""]
    artists = [*texts.owner.names, texts.artist, *featured]
    beside: dict[Scope, list[str]] = {"artist": artists, "album": albums, "tag": card["tags"]}
    return term_fields([card["title"]], beside, card["description"])
