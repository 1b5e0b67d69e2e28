"""Tracks: one by its name, or lists of those visible to a viewer."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Annotated, Any

import orjson
from pydantic import Field

from readapi.errors import Conflict, NotFound, NotOwner
from readapi.index.lookups import Index, Sort
from readapi.index.paging import Page, Position
from readapi.index.queries import identifiers
from schemas.access import Place, Viewer, may_see
from schemas.ids import AtUri, Did, checked_id, checked_key, record_id
from schemas.stored import Card, read_access
from schemas.takedowns import Takedown

# A parameter of every list, search and player.
Adult = Annotated[bool, Field(description="Include what labels say is for adults.")]

NO_SUCH_TRACK = "There is no such track."


def find_track(index: Index, name: str, viewer: Viewer | None) -> Card:
    """The track with an id or at-uri. Raises NotFound, also for one that the viewer may not see."""
    card = _look_up_track(index, name)
    if card is None or not _may_see(card, viewer, "direct"):
        raise NotFound(_absence(index, name, viewer))
    return card


def find_embedded_track(index: Index, name: str, *, adult: bool) -> Card:
    """The track for a player in another site, where everybody meets it. Raises NotFound."""
    card = find_track(index, name, None)
    refuse_adult(card, adult=adult)
    return card


def refuse_adult(card: Card, *, adult: bool) -> None:
    """Raises NotFound for what is for adults, unless that was asked for."""
    if card.is_adult and not adult:
        raise NotFound("Labels say that this is for adults; with adult=true it is shown.")


def _absence(index: Index, name: str, viewer: Viewer | None) -> str:
    """Why there is no such track; that it was taken down is told to its artist alone."""
    takedown = None if viewer is None else index.takedowns.now.of_own_record(name, viewer.did)
    return NO_SUCH_TRACK if takedown is None else taken_down("track", takedown)


def taken_down(kind: str, takedown: Takedown) -> str:
    """The sentence for the account that a takedown concerns. `kind`: what it has looked for."""
    return f"The operator of this service has taken this {kind} down: {takedown.reason}"


def find_own_track(index: Index, name: str, viewer: Viewer) -> Card:
    """The viewer's own track. Raises NotFound, NotOwner for another's visible track, and Conflict.

    Conflict is for a plain id that collides with another record's: it is ambiguous.
    """
    try:
        card = find_track(index, name, viewer)
    except NotFound:
        number = identifiers.parse_track_id(name)
        shared = [] if number is None else index.tracks_asking_for(number, viewer.did)
        if not shared:
            raise
        uris = ", ".join(str(track_uri(card)) for card in shared)
        raise Conflict(f"Several records share this id, so it is ambiguous. Name it {uris}") from None
    if card.did != viewer.did:
        raise NotOwner("This track belongs to another account.")
    return card


def parse_card(card: Card) -> dict[str, Any]:
    """The card's JSON, parsed."""
    known: dict[str, Any] = orjson.loads(card.card + b"}")
    return known


def track_uri(card: Card) -> AtUri:
    """A track's at-uri."""
    return AtUri.parse(parse_card(card)["uri"])


def public_id(index: Index, uri: AtUri) -> int:
    """A record's public id: the one in the index, or the one that it will get unless it collides."""
    card = index.track_at(str(uri)) if index.is_open else None
    return record_id(str(uri)) if card is None else int(parse_card(card)["id"])


def strong_ref(card: Card) -> dict[str, str]:
    """A strong reference to this version of the track: at-uri and CID."""
    known = parse_card(card)
    return {"uri": known["uri"], "cid": known["cid"]}


def find_tracks_of_file(
    index: Index, file_id: str, known: Iterable[AtUri], viewer: Viewer | None
) -> list[Card]:
    """The tracks with this file that the viewer may see; those `known` to have it come first.

    Of the others, which any account can write, not all are examined.
    """
    first = [card for uri in known if (card := index.track_at(str(uri))) is not None]
    ours = {card.key for card in first}
    others = [card for card in index.tracks_of(file_id) if card.key not in ours]
    return filter_visible([*first, *others], viewer, "direct")


def find_track_page(
    index: Index,
    sort: Sort,
    after: Position | None,
    limit: int,
    artist_did: str | None,
    tags: Sequence[str],
    viewer: Viewer | None,
    *,
    adult: bool = False,
) -> Page[Card]:
    """Tracks of all artists, or of one: then with the unlisted ones."""
    place: Place = "discovery" if artist_did is None else "profile"
    return index.track_page(
        place, sort, after, limit, artist_did=artist_did, tags=tags, viewer=viewer, adult=adult
    )


def filter_visible(
    cards: Iterable[Card], viewer: Viewer | None, place: Place, *, adult: bool = False
) -> list[Card]:
    """Those visible to this viewer in this place, in order."""
    if viewer is None:
        return [card for card in cards if _stranger_may_see(card.in_lists[0], place, adult)]
    return [card for card in cards if may_see(card.access, viewer, place, adult=adult)]


def is_public(card: Card) -> bool:
    """Whether everybody meets the track in lists, so that its title may be told to everybody."""
    return _may_see(card, None, "discovery")


def _look_up_track(index: Index, name: str) -> Card | None:
    """The track with an id, an id and its check, or an at-uri."""
    if (number := identifiers.parse_track_id(name)) is not None:
        return index.track(number)
    if name.startswith("at://"):
        return index.track_at(identifiers.resolve_owner(index, name))
    if (key := checked_key(name)) is None:
        return None
    return next((card for card in index.tracks([key]) if checked_id(str(track_uri(card))) == name), None)


def _may_see(card: Card, viewer: Viewer | None, place: Place, *, adult: bool = False) -> bool:
    if viewer is None:
        policy, _, _ = card.in_lists  # which its JSON needs as well
        return _stranger_may_see(policy, place, adult)
    return may_see(card.access, viewer, place, adult=adult)


@lru_cache(maxsize=1024)
def _stranger_may_see(policy: bytes, place: Place, adult: bool) -> bool:
    return may_see(read_access(Did(""), policy), None, place, adult=adult)
