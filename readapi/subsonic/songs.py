"""Tracks as songs for a viewer: which of them they like, and what they would hear."""

from collections.abc import Sequence

from readapi.http.supporters import Supporters
from readapi.index.lookups import Index
from readapi.index.queries import social
from readapi.subsonic.items import Item, describe_song
from schemas.access import Viewer
from schemas.stored import Card


class Songs:
    """Describes tracks that the viewer may see."""

    def __init__(self, index: Index, supporters: Supporters) -> None:
        self._index = index
        self._supporters = supporters

    async def describe(self, cards: Sequence[Card], viewer: Viewer, *, numbered: bool = False) -> list[Item]:
        """The tracks as songs, in order; `numbered`: as the tracks of one album."""
        listener = await self._supporters.among(viewer, cards)
        liked = social.liked_times(self._index, cards, viewer)
        return [
            describe_song(card, listener, liked.get(card.key), place if numbered else None)
            for place, card in enumerate(cards, 1)
        ]
