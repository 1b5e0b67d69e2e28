"""Ready-made cards → what this viewer gets: the last members of a track depend on who asks.

Bytes are put together; nothing that is ready-made is parsed.
"""

from collections.abc import Container, Iterable
from functools import lru_cache
from typing import Any

import orjson

from readapi.answers import Answer
from schemas.access import Access, Viewer, may_download, may_listen
from schemas.ids import Did
from schemas.stored import Card, access

Parts = list[bytes | Card]


def track(card: Card, viewer: Viewer | None, liked: Container[int]) -> Parts:
    """A Track: the card, what this viewer may do with it, and whether it is among the keys they liked."""
    if viewer is None:
        return [card, _strangers(card.policy)]
    return [card, _members(card.access, viewer, card.key in liked)]


def tracks(cards: Iterable[Card], viewer: Viewer | None, liked: Container[int]) -> Parts:
    """A list of Track."""
    parts: Parts = [b"["]
    for card in cards:
        parts += track(card, viewer, liked)
        parts.append(b",")
    if len(parts) > 1:
        parts.pop()
    parts.append(b"]")
    return parts


def recommended(
    cards: Iterable[Card], artists: Iterable[str], viewer: Viewer | None, liked: Container[int]
) -> Parts:
    """A list of RecommendedTrack. `artists`: what each card says of its artist."""
    shown = []
    for card, artist in zip(cards, artists, strict=True):
        ready = together(track(card, viewer, liked))
        shown.append(together(extended(ready, artist_display_name=orjson.dumps(artist))))
    return [array(shown)]


def array(items: Iterable[bytes]) -> bytes:
    """A JSON array of ready-made values."""
    return b"[" + b",".join(items) + b"]"


def record(**members: bytes | Parts) -> Parts:
    """A JSON object of ready-made members."""
    parts: Parts = []
    for name, value in members.items():
        parts.append(b'%b"%b":' % (b"," if parts else b"{", name.encode()))
        parts += [value] if isinstance(value, bytes) else value
    parts.append(b"}")
    return parts


def extended(ready: bytes, **members: bytes | Parts) -> Parts:
    """A ready-made object with more members."""
    first, *more = record(**members)
    assert isinstance(first, bytes)
    return [ready[:-1], b"," + first[1:], *more]


def answer(parts: Parts, **more: Any) -> Answer[Any]:
    """What is sent. Its ETag is made of the digests of cards: to hash them whole would cost most of it."""
    tag = b"".join([part.digest if isinstance(part, Card) else part for part in parts])
    return Answer(together(parts), tag=tag, **more)


def together(parts: Parts) -> bytes:
    """The parts as one, copied once."""
    return b"".join([part.card_in_place if isinstance(part, Card) else part for part in parts])


def rest(next_cursor: str | None) -> dict[str, bytes]:
    """The members in which every page says what is left."""
    return {
        "next_cursor": orjson.dumps(next_cursor),
        "has_more": b"false" if next_cursor is None else b"true",
    }


@lru_cache(maxsize=64)
def _strangers(policy: bytes) -> bytes:
    return _members(access(Did(""), policy), None, False)


def _members(decided: Access, viewer: Viewer | None, is_liked: bool) -> bytes:
    members = {
        "is_liked": is_liked,
        "gated": not may_listen(decided, viewer),
        "downloadable": may_download(decided, viewer),
    }
    return b"," + orjson.dumps(members)[1:]
