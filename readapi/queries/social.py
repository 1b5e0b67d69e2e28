"""Who liked a track, what was said of it, and what somebody likes."""

from collections.abc import Sequence
from typing import Any

import orjson

from readapi.cards import Card
from readapi.paging import Page, Position
from readapi.queries import people
from readapi.search import Index
from schemas.access import Viewer


def likers(index: Index, track_key: int, after: Position | None, limit: int) -> Page[bytes]:
    """Likers, newest first, as JSON."""
    page = index.likers_page(track_key, after, limit)
    named = people.named(index, [like.did for like in page.items])
    return Page(
        [orjson.dumps({**named[like.did], "liked_at": like.liked_at}) for like in page.items], page.after
    )


def liked(index: Index, tracks: Sequence[Card], viewer: Viewer | None) -> frozenset[int]:
    """The keys of those tracks that this viewer likes; nobody likes none."""
    return frozenset() if viewer is None else index.liked_among(viewer.did, [card.key for card in tracks])


def comments(index: Index, track_key: int, after: Position | None, limit: int) -> Page[bytes]:
    """Comments by the moment they stand at, as JSON."""
    page = index.comment_page(track_key, after, limit)
    found = [orjson.loads(card) for card in page.items]
    named = people.named(index, [comment["user_did"] for comment in found])
    return Page([orjson.dumps(_signed(comment, named[comment["user_did"]])) for comment in found], page.after)


def _signed(comment: dict[str, Any], person: dict[str, Any]) -> dict[str, Any]:
    return {
        **comment,
        "user_handle": person["handle"],
        "user_display_name": person["display_name"],
        "user_avatar_url": person["avatar_url"],
    }
