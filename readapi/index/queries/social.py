"""Likes and comments of a track, and an account's own."""

from collections.abc import Sequence
from typing import Any

import orjson

from readapi.errors import NotFound, NotOwner
from readapi.index.folder import match_all
from readapi.index.lookups import Index
from readapi.index.paging import Page, Position
from readapi.index.queries import artists, tracks
from schemas.access import Viewer
from schemas.ids import AtUri, Did
from schemas.labels import label_members
from schemas.stored import Card, Stored


def list_likers(index: Index, track_key: int, after: Position | None, limit: int) -> Page[bytes]:
    """Likers, newest first, as JSON."""
    page = index.likers_page(track_key, after, limit)
    named = artists.name_people(index, [like.did for like in page.items])
    return Page(
        [orjson.dumps({**named[like.did], "liked_at": like.liked_at}) for like in page.items], page.after
    )


def liked_keys(index: Index, cards: Sequence[Card], viewer: Viewer | None) -> frozenset[int]:
    """The keys of those tracks that this viewer likes; empty without a viewer."""
    return frozenset() if viewer is None else index.liked_among(viewer.did, [card.key for card in cards])


def liked_times(index: Index, cards: Sequence[Card], viewer: Viewer) -> dict[int, str]:
    """When this viewer liked those of these tracks that they like, by the tracks' keys."""
    if not cards:
        return {}
    keys = list({card.key for card in cards})
    likes = match_all(index.likes_of(viewer.did), index.social.any_term("subject", keys))
    addresses = index.addresses(likes, len(keys), index.social)
    subjects = index.social.numbers("subject", addresses)
    times = [orjson.loads(Stored(packed).card)["liked_at"] for packed in index.social.stored(addresses)]
    return dict(zip(subjects, times, strict=True))


def list_comments(index: Index, track_key: int, after: Position | None, limit: int) -> Page[bytes]:
    """Comments by their moment, as JSON."""
    page = index.comment_page(track_key, after, limit)
    found = [orjson.loads(card) for card in page.items]
    authors = artists.load_people(index, [comment["user_did"] for comment in found])
    return Page(
        [orjson.dumps(add_author(comment, authors[comment["user_did"]])) for comment in found], page.after
    )


def like_rkeys(index: Index, did: Did, track_key: int) -> list[str]:
    """The rkeys of an account's likes of a track: one, unless a program wrote several."""
    likes = match_all(
        index.social.term("did", did),
        index.social.term("kind", "like"),
        index.social.term("subject", track_key),
    )
    found = index.social.stored(index.addresses(likes, 1, index.social))
    return [rkey for packed in found for rkey in orjson.loads(Stored(packed).card)["rkeys"]]


def comment_count(index: Index, did: Did, track_key: int) -> int:
    """How many comments an account has written on a track."""
    index.require()
    return index.social.count(
        match_all(
            index.social.term("did", did),
            index.social.term("kind", "comment"),
            index.social.term("subject", track_key),
        )
    )


def find_own_comment(index: Index, comment_id: int, viewer: Viewer) -> dict[str, Any]:
    """The viewer's own comment. Raises NotFound, or NotOwner for another's on a visible track."""
    index.require()
    wanted = match_all(index.social.term("id", comment_id), index.social.term("kind", "comment"))
    addresses = index.addresses(wanted, 1, index.social)
    for packed, track_key in zip(
        index.social.stored(addresses), index.social.numbers("subject", addresses), strict=True
    ):
        comment: dict[str, Any] = orjson.loads(Stored(packed).card)
        if comment["user_did"] == viewer.did:
            return comment
        if tracks.filter_visible(index.tracks([track_key]), viewer, "direct"):
            raise NotOwner("This comment belongs to another account.")
    raise NotFound("There is no such comment.")


def comment_uri(comment: dict[str, Any]) -> AtUri:
    """The at-uri of a comment."""
    return AtUri.parse(comment["uri"])


def add_author(comment: dict[str, Any], author: dict[str, Any]) -> dict[str, Any]:
    """A comment with its author's name, and the labels of both. `author`: the account's card."""
    return {
        **comment,
        "user_handle": author["handle"],
        "user_display_name": author.get("display_name"),
        "user_avatar_url": author.get("avatar_url"),
        **label_members([*author.get("label_details", ()), *comment["label_details"]]),
    }
