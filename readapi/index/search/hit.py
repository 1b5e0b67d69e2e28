"""One match of a search, and its position in the order of matches."""

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from tantivy import DocAddress

from readapi.index.paging import Position

# What a Hit is made of; hundreds of them are sorted, of which a page shows a few.
Match = tuple[int, int, int, DocAddress]


class Place(NamedTuple):
    """A position in the order of a search's matches of one kind."""

    tier: int
    position: Position


class Hit(NamedTuple):
    """One match: `tier` says how well. Better ones sort first."""

    tier: int
    minus_key: int
    minus_id: int
    address: DocAddress

    @property
    def place(self) -> Place:
        return Place(self.tier, Position(-self.minus_key, -self.minus_id))


# `Hit._make`, without its own check of how many values there are.
HIT_OF: Final[Callable[[Match], Hit]] = partial(tuple.__new__, Hit)
