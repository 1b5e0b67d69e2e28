"""Ready-made cards → what this viewer gets: the last members of a track depend on who asks.

Bytes are put together; nothing that is ready-made is parsed.
"""

from collections.abc import Iterable
from functools import lru_cache

import orjson

from readapi.cards import Card, access
from schemas.access import Access, Viewer, may_download, may_listen
from schemas.ids import Did


def track(card: Card, viewer: Viewer | None, is_liked: bool = False) -> bytes:
    """A Track: the card, and what this viewer may do with it."""
    if viewer is None:
        return card.card + _strangers(card.policy)
    return card.card + _members(card.access, viewer, is_liked)


def tracks(cards: Iterable[Card], viewer: Viewer | None) -> bytes:
    """A list of Track."""
    return array(track(card, viewer) for card in cards)


def array(items: Iterable[bytes]) -> bytes:
    """A JSON array of ready-made values."""
    return b"[" + b",".join(items) + b"]"


def record(**members: bytes) -> bytes:
    """A JSON object of ready-made members."""
    return b"{" + b",".join(b'"%b":%b' % (name.encode(), value) for name, value in members.items()) + b"}"


def extended(card: bytes, **members: bytes) -> bytes:
    """A ready-made object with more members."""
    return card[:-1] + b"," + record(**members)[1:]


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
