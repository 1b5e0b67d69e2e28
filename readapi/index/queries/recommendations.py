"""Recommendations for a list: tracks of the same tags or artists that are not in it yet."""

from collections.abc import Sequence

from readapi.index.folder import exclude_query, match_all, match_any
from readapi.index.lookups import Index
from readapi.index.paging import Listing
from readapi.index.queries import tracks
from schemas.access import Viewer
from schemas.stored import Card

_MOST_TAGS = 50


def recommend_tracks(index: Index, held: Sequence[Card], viewer: Viewer, limit: int) -> list[Card]:
    """The most popular public tracks that share a tag or artist with those `held`."""
    index.require()
    tags = [tag for card in held for tag in tracks.parse_card(card)["tags"]]
    alike = [index.catalog.any_term("did", list({card.did for card in held}))]
    if tags:
        alike.append(index.catalog.any_term("tag", list(dict.fromkeys(tags))[:_MOST_TAGS]))
    shown = index.catalog.term("place", "track@discovery")
    held_already = index.catalog.any_term("key", [card.key for card in held])
    query = exclude_query(match_all(shown, match_any(*alike)), held_already)
    return index.unpack(Listing(index.catalog, query, "popular").page(None, limit).items)
