"""Tracks that would go with a list: of the same tags or artists, and not in it yet."""

from collections.abc import Sequence

from readapi.index_folder import either, every, without
from readapi.paging import Listing
from readapi.queries import tracks
from readapi.search import Index
from schemas.access import Viewer
from schemas.stored import Card

_MOST_TAGS = 50


def going_with(index: Index, held: Sequence[Card], viewer: Viewer, limit: int) -> list[Card]:
    """The most popular ones that anybody may see."""
    index.require()
    tags = [tag for card in held for tag in tracks.told(card)["tags"]]
    alike = [index.catalog.any_term("did", list({card.did for card in held}))]
    if tags:
        alike.append(index.catalog.any_term("tag", list(dict.fromkeys(tags))[:_MOST_TAGS]))
    shown = index.catalog.term("place", "track@discovery")
    held_already = index.catalog.any_term("key", [card.key for card in held])
    query = without(every(shown, either(*alike)), held_already)
    return index.unpack(Listing(index.catalog, query, "popular").page(None, limit).items)
