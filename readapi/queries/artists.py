"""Artists, and what they like."""

from readapi.cards import Card
from readapi.errors import NotFound
from readapi.search import Index


def find(index: Index, name: str) -> Card:
    """Whoever a handle or DID names. Raises NotFound."""
    card = index.artist(name.removeprefix("@"))
    if card is None:
        raise NotFound("There is no such artist.")
    return card
