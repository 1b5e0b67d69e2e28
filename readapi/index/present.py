"""Ready-made cards → JSON for a viewer: a track's last members depend on the viewer, and on our origin.

Bytes are concatenated; ready-made JSON is not parsed.
"""

import hashlib
from collections.abc import Container, Iterable
from functools import lru_cache
from typing import Any, Final, NamedTuple

import orjson

from readapi.answers import Answer
from schemas.access import Viewer, may_download, may_listen
from schemas.ids import Did
from schemas.stored import Card, read_access

_HERE: Final = "{address}"  # in the address of a stream; no service has braces in its own


class Parts(NamedTuple):
    """The body in pieces, and shorter bytes that change whenever it does, to make the ETag of."""

    body: list[Any]
    tag: list[bytes]


# A track's JSON in pieces, the last of which is the comma after it in a list; and what its ETag is made of.
_Rendered = tuple[tuple[memoryview, bytes, bytes], tuple[bytes, bytes]]


class _Rest(NamedTuple):
    """The end of a track's JSON: pieces between which its address goes, and a tag for all of them."""

    parts: tuple[bytes, ...]
    tag: bytes


def render_track(card: Card, viewer: Viewer | None, liked: Container[int]) -> Parts:
    """A Track: the card, the viewer's permissions, and whether its key is among the `liked` ones."""
    (ready, rest, _), marks = _for_strangers(card) if viewer is None else _for_viewer(card, viewer, liked)
    return Parts([ready, rest], [*marks])


def render_tracks(cards: Iterable[Card], viewer: Viewer | None, liked: Container[int]) -> Parts:
    """A list of Track."""
    body: list[Any] = [b"["]
    tag = [b"["]
    for card in cards:
        if viewer is None:
            pieces, marks = card.rendered or _for_strangers(card)
        else:
            pieces, marks = _for_viewer(card, viewer, liked)
        body += pieces
        tag += marks
    if len(body) > 1:
        body.pop()
    body.append(b"]")
    tag.append(b"]")
    return Parts(body, tag)


def render_recommended(
    cards: Iterable[Card], artists: Iterable[str], viewer: Viewer | None, liked: Container[int]
) -> bytes:
    """A list of RecommendedTrack. `artists`: the artist's name of each card."""
    shown = []
    for card, artist in zip(cards, artists, strict=True):
        ready = join_parts(render_track(card, viewer, liked))
        shown.append(join_parts(extend_object(ready, artist_display_name=orjson.dumps(artist))))
    return render_array(shown)


def render_array(items: Iterable[bytes]) -> bytes:
    """A JSON array of ready-made values."""
    return b"[" + b",".join(items) + b"]"


def render_object(**members: bytes | Parts) -> Parts:
    """A JSON object of ready-made members."""
    parts = Parts([], [])
    for name, value in members.items():
        before = b'%b"%b":' % (b"," if parts.body else b"{", name.encode())
        body, tag = value if isinstance(value, Parts) else ([value], [value])
        parts.body.append(before)
        parts.tag.append(before)
        parts.body.extend(body)
        parts.tag.extend(tag)
    parts.body.append(b"}")
    return parts


def extend_object(ready: bytes, **members: bytes | Parts) -> Parts:
    """A ready-made object with more members."""
    more = render_object(**members)
    before = b"%b,%b" % (ready[:-1], more.body[0][1:])
    return Parts([before, *more.body[1:]], [before, *more.tag[1:]])


def make_answer(parts: Parts, **more: Any) -> Answer[Any]:
    """The answer. Its ETag is made of the cards' digests: to hash the whole body would cost most of it."""
    return Answer(b"".join(parts.body), tag=b"".join(parts.tag), **more)


def join_parts(parts: Parts) -> bytes:
    """The pieces joined, copied once."""
    return b"".join(parts.body)


def rest_members(next_cursor: str | None) -> dict[str, bytes]:
    """The members of every page about what follows it: `next_cursor` and the like."""
    return {
        "next_cursor": orjson.dumps(next_cursor),
        "has_more": b"false" if next_cursor is None else b"true",
    }


def _for_strangers(card: Card) -> _Rendered:
    """What all strangers see of a track. It is kept with the card, since many requests list the same ones."""
    policy, address, ready = card.in_lists
    parts, mark = _strangers(card.base_url, policy)
    rendered: _Rendered = (ready, address.join(parts), b","), (card.digest, mark)
    card.rendered = rendered
    return rendered


def _for_viewer(card: Card, viewer: Viewer, liked: Container[int]) -> _Rendered:
    _, address, ready = card.in_lists
    decided = card.access
    hears, keeps = may_listen(decided, viewer), may_download(decided, viewer)
    parts, mark = _rest(card.base_url, hears, keeps, card.key in liked)
    return (ready, address.join(parts), b","), (card.digest, mark)


@lru_cache(maxsize=64)
def _strangers(base_url: str, policy: bytes) -> _Rest:
    decided = read_access(Did(""), policy)
    return _rest(base_url, may_listen(decided, None), may_download(decided, None), False)


@lru_cache(maxsize=64)
def _rest(base_url: str, hears: bool, keeps: bool, is_liked: bool) -> _Rest:
    stream_url = f"{base_url}/tracks/{_HERE}/stream"
    members = {
        "stream_url": stream_url,
        "r2_url": stream_url if hears else None,
        "is_liked": is_liked,
        "gated": not hears,
        "downloadable": keeps,
    }
    end = b"," + orjson.dumps(members)[1:]
    return _Rest(tuple(end.split(_HERE.encode())), hashlib.blake2b(end, digest_size=8).digest())
