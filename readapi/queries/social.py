"""Who liked a track, what was said of it, and what somebody likes."""

from typing import Any

import orjson

from readapi.paging import Page, Position
from readapi.queries import people
from readapi.search import Index


def likers(index: Index, track_key: int, after: Position | None, limit: int) -> Page[bytes]:
    """Likers, newest first, as JSON."""
    page = index.likers_page(track_key, after, limit)
    named = people.named(index, [like.did for like in page.items])
    return Page(
        [orjson.dumps({**named[like.did], "liked_at": like.liked_at}) for like in page.items], page.after
    )


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
