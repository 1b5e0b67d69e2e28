"""People as lists name them, joined to what they did."""

from collections.abc import Iterable
from typing import Any

import orjson

from readapi.search import Index
from schemas.ids import INVALID_HANDLE
from schemas.stored import Card


def named(index: Index, dids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Handle, display name and avatar of each of these accounts, by DID."""
    wanted = list(dids)
    known = index.people(wanted)
    return {did: person(did, known.get(did)) for did in wanted}


def person(did: str, card: Card | None) -> dict[str, Any]:
    """One account. Somebody of whom nothing is known has a handle that cannot be one."""
    known = orjson.loads(card.card) if card is not None else {"handle": INVALID_HANDLE}
    return {
        "did": did,
        "handle": known["handle"],
        "display_name": known.get("display_name"),
        "avatar_url": known.get("avatar_url"),
    }
