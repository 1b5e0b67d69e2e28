"""Tracks: one, or lists of those that a viewer may meet."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import orjson

from readapi.errors import Conflict, NotFound, NotOwner
from readapi.paging import Page, Position
from readapi.queries import names
from readapi.search import Index, Sort
from schemas.access import Place, Viewer, may_see
from schemas.ids import AtUri, Did, checked_id, checked_key, record_id
from schemas.stored import Card, access

NO_SUCH_TRACK = "There is no such track."


def find(index: Index, name: str, viewer: Viewer | None) -> Card:
    """The track of this name. Raises NotFound, also for one that the viewer may not know of."""
    card = _called(index, name)
    if card is None or not _may_see(card, viewer, "direct"):
        raise NotFound(NO_SUCH_TRACK)
    return card


def own(index: Index, name: str, viewer: Viewer) -> Card:
    """The viewer's own track of this name. Raises NotFound, NotOwner of what others show, and Conflict.

    That is for a plain id that the viewer's track shares with another record: it stands for neither.
    """
    try:
        card = find(index, name, viewer)
    except NotFound:
        number = names.track_id(name)
        shared = [] if number is None else index.tracks_asking_for(number, viewer.did)
        if not shared:
            raise
        uris = ", ".join(str(uri_of(card)) for card in shared)
        raise Conflict(f"Several records share this id, so it stands for none. Name it {uris}") from None
    if card.did != viewer.did:
        raise NotOwner("This track is somebody else's.")
    return card


def told(card: Card) -> dict[str, Any]:
    """What a track's card says."""
    known: dict[str, Any] = orjson.loads(card.card + b"}")
    return known


def uri_of(card: Card) -> AtUri:
    """The record that a track is."""
    return AtUri.parse(told(card)["uri"])


def public_id(index: Index, uri: AtUri) -> int:
    """The id that a record goes by: what the index shows, or will unless another record shares it."""
    card = index.track_at(str(uri)) if index.is_open else None
    return record_id(str(uri)) if card is None else int(told(card)["id"])


def strong_ref(card: Card) -> dict[str, str]:
    """The track and this version of it, as other records point at it."""
    known = told(card)
    return {"uri": known["uri"], "cid": known["cid"]}


def of_file(index: Index, file_id: str, known: Iterable[AtUri], viewer: Viewer | None) -> list[Card]:
    """The tracks that are this file and that the viewer may know of: those that are `known` to be it first.

    Of the others, which anybody can write, not all are looked at.
    """
    first = [card for uri in known if (card := index.track_at(str(uri))) is not None]
    ours = {card.key for card in first}
    others = [card for card in index.tracks_of(file_id) if card.key not in ours]
    return seen([*first, *others], viewer, "direct")


def page(
    index: Index,
    sort: Sort,
    after: Position | None,
    limit: int,
    artist_did: str | None,
    tags: Sequence[str],
    viewer: Viewer | None,
) -> Page[Card]:
    """Tracks of everybody, or of one artist: there the unlisted ones are shown too."""
    place: Place = "discovery" if artist_did is None else "profile"
    return index.track_page(place, sort, after, limit, artist_did=artist_did, tags=tags, viewer=viewer)


def seen(cards: Iterable[Card], viewer: Viewer | None, place: Place) -> list[Card]:
    """Those that this viewer may meet in this place, in order."""
    return [card for card in cards if _may_see(card, viewer, place)]


def _called(index: Index, name: str) -> Card | None:
    """The track with an id, an id and its check, or an at-uri."""
    if (number := names.track_id(name)) is not None:
        return index.track(number)
    if name.startswith("at://"):
        return index.track_at(names.with_did(index, name))
    if (key := checked_key(name)) is None:
        return None
    return next((card for card in index.tracks([key]) if checked_id(str(uri_of(card))) == name), None)


def _may_see(card: Card, viewer: Viewer | None, place: Place) -> bool:
    return _stranger_may_see(card.policy, place) if viewer is None else may_see(card.access, viewer, place)


@lru_cache(maxsize=256)
def _stranger_may_see(policy: bytes, place: Place) -> bool:
    return may_see(access(Did(""), policy), None, place)
