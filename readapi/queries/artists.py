"""Artists, and what they like."""

import orjson

from readapi.errors import NotFound
from readapi.search import Index
from schemas.ids import Did
from schemas.stored import Card


def find(index: Index, name: str) -> Card:
    """Whoever a handle or DID names. Raises NotFound."""
    card = index.artist(name.removeprefix("@"))
    if card is None:
        raise NotFound("There is no such artist.")
    return card


def display_name(index: Index, did: Did) -> str | None:
    """What somebody calls themselves, if they have a profile and there is an index yet."""
    artist = index.artist(did) if index.is_open else None
    if artist is None:
        return None
    name: str | None = orjson.loads(artist.card)["display_name"]
    return name
