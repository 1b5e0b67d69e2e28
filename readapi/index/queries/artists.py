"""Artists and accounts, by handle or DID."""

from collections.abc import Iterable
from typing import Any

import orjson

from readapi.errors import NotFound
from readapi.index.lookups import Index
from schemas.ids import INVALID_HANDLE, Did
from schemas.labels import label_members
from schemas.stored import Card


def find_artist(index: Index, name: str) -> Card:
    """The account with a handle or DID. Raises NotFound."""
    card = index.artist(name.removeprefix("@"))
    if card is None:
        raise NotFound("There is no such artist.")
    return card


def display_name(index: Index, did: Did) -> str | None:
    """An account's display name, if it has a profile and there is an index yet."""
    name: str | None = _known_card(index, did).get("display_name")
    return name


def support_url(index: Index, did: Did) -> str | None:
    """Where an account can be supported, if its profile says so."""
    address: str | None = _known_card(index, did).get("support_url")
    return address


def account_labels(index: Index, did: Did) -> dict[str, Any]:
    """What is said of an account, as the members about labels of a list that it has just written."""
    return label_members(_known_card(index, did).get("label_details", ()))


def name_people(index: Index, dids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Handle, display name and avatar of each of these accounts, by DID."""
    return {did: _named(did, card) for did, card in load_people(index, dids).items()}


def load_people(index: Index, dids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The whole card of each of these accounts, by DID. Of an unknown one nothing but `handle.invalid`."""
    wanted = list(dids)
    known = index.people(wanted)
    return {did: _parse_card(known.get(did)) for did in wanted}


def describe_person(did: str, card: Card | None) -> dict[str, Any]:
    """One account as JSON. An unknown account has the handle `handle.invalid`."""
    return _named(did, _parse_card(card))


def _known_card(index: Index, did: Did) -> dict[str, Any]:
    return _parse_card(index.artist(did) if index.is_open else None)


def _parse_card(card: Card | None) -> dict[str, Any]:
    known: dict[str, Any] = orjson.loads(card.card) if card is not None else {"handle": INVALID_HANDLE}
    return known


def _named(did: str, card: dict[str, Any]) -> dict[str, Any]:
    return {
        "did": did,
        "handle": card["handle"],
        "display_name": card.get("display_name"),
        "avatar_url": card.get("avatar_url"),
    }
