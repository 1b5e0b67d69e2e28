"""Artists and accounts, by handle or DID."""

from collections.abc import Iterable
from typing import Any

import orjson

from readapi.errors import NotFound
from readapi.index.lookups import Index
from schemas.ids import INVALID_HANDLE, Did
from schemas.stored import Card


def find_artist(index: Index, name: str) -> Card:
    """The account with a handle or DID. Raises NotFound."""
    card = index.artist(name.removeprefix("@"))
    if card is None:
        raise NotFound("There is no such artist.")
    return card


def display_name(index: Index, did: Did) -> str | None:
    """An account's display name, if it has a profile and there is an index yet."""
    artist = index.artist(did) if index.is_open else None
    if artist is None:
        return None
    name: str | None = orjson.loads(artist.card)["display_name"]
    return name


def name_people(index: Index, dids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Handle, display name and avatar of each of these accounts, by DID."""
    wanted = list(dids)
    known = index.people(wanted)
    return {did: describe_person(did, known.get(did)) for did in wanted}


def describe_person(did: str, card: Card | None) -> dict[str, Any]:
    """One account as JSON. An unknown account has the handle `handle.invalid`."""
    known = orjson.loads(card.card) if card is not None else {"handle": INVALID_HANDLE}
    return {
        "did": did,
        "handle": known["handle"],
        "display_name": known.get("display_name"),
        "avatar_url": known.get("avatar_url"),
    }
