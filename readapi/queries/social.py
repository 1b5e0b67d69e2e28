"""Who liked a track, what was said of it, and what somebody likes."""

from collections.abc import Sequence
from typing import Any

import orjson

from readapi.errors import NotFound, NotOwner
from readapi.index_folder import every
from readapi.paging import Page, Position
from readapi.queries import people, tracks
from readapi.search import Index
from schemas.access import Viewer
from schemas.ids import AtUri, Did
from schemas.stored import Card, Stored


def likers(index: Index, track_key: int, after: Position | None, limit: int) -> Page[bytes]:
    """Likers, newest first, as JSON."""
    page = index.likers_page(track_key, after, limit)
    named = people.named(index, [like.did for like in page.items])
    return Page(
        [orjson.dumps({**named[like.did], "liked_at": like.liked_at}) for like in page.items], page.after
    )


def liked(index: Index, cards: Sequence[Card], viewer: Viewer | None) -> frozenset[int]:
    """The keys of those tracks that this viewer likes; nobody likes none."""
    return frozenset() if viewer is None else index.liked_among(viewer.did, [card.key for card in cards])


def comments(index: Index, track_key: int, after: Position | None, limit: int) -> Page[bytes]:
    """Comments by the moment they stand at, as JSON."""
    page = index.comment_page(track_key, after, limit)
    found = [orjson.loads(card) for card in page.items]
    named = people.named(index, [comment["user_did"] for comment in found])
    return Page([orjson.dumps(signed(comment, named[comment["user_did"]])) for comment in found], page.after)


def like_rkeys(index: Index, did: Did, track_key: int) -> list[str]:
    """The records with which somebody likes a track: one, if all programs are well-behaved."""
    likes = every(
        index.social.term("did", did),
        index.social.term("kind", "like"),
        index.social.term("subject", track_key),
    )
    found = index.social.stored(index.addresses(likes, 1, index.social))
    return [rkey for packed in found for rkey in orjson.loads(Stored(packed).card)["rkeys"]]


def comment_count(index: Index, did: Did, track_key: int) -> int:
    """How many comments somebody has written on a track."""
    index.require()
    return index.social.count(
        every(
            index.social.term("did", did),
            index.social.term("kind", "comment"),
            index.social.term("subject", track_key),
        )
    )


def own_comment(index: Index, comment_id: int, viewer: Viewer) -> dict[str, Any]:
    """The viewer's own comment. Raises NotFound; NotOwner of others' on tracks that they may see."""
    index.require()
    wanted = every(index.social.term("id", comment_id), index.social.term("kind", "comment"))
    addresses = index.addresses(wanted, 1, index.social)
    for packed, track_key in zip(
        index.social.stored(addresses), index.social.numbers("subject", addresses), strict=True
    ):
        comment: dict[str, Any] = orjson.loads(Stored(packed).card)
        if comment["user_did"] == viewer.did:
            return comment
        if tracks.seen(index.tracks([track_key]), viewer, "direct"):
            raise NotOwner("This comment is somebody else's.")
    raise NotFound("There is no such comment.")


def uri_of(comment: dict[str, Any]) -> AtUri:
    """The record that a comment is."""
    return AtUri.parse(comment["uri"])


def signed(comment: dict[str, Any], person: dict[str, Any]) -> dict[str, Any]:
    """A comment with the name of whoever wrote it."""
    return {
        **comment,
        "user_handle": person["handle"],
        "user_display_name": person["display_name"],
        "user_avatar_url": person["avatar_url"],
    }
