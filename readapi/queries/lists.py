"""Albums and playlists, and the tracks that are in them."""

from typing import Any, Literal

import orjson

from readapi.errors import NotFound, NotOwner
from readapi.paging import MOST_ROWS, Page, Position
from readapi.queries import names, tracks
from readapi.search import Index
from readapi.state.showing import Showing
from schemas.access import Place, Viewer
from schemas.ids import AtUri, Did
from schemas.stored import Card

_SUMMARY = ("id", "title", "slug", "artist", "artist_handle", "track_count", "total_plays", "image_url")


def find(index: Index, kind: Literal["album", "playlist"], name: str) -> Card:
    """The album or playlist with an id or at-uri. Raises NotFound."""
    known = names.with_did(index, name) if name.startswith("at://") else name
    return _there(index.find_list(kind, known), kind)


def own(index: Index, kind: Literal["album", "playlist"], name: str, owner: Did) -> Card:
    """The owner's own album or playlist with an id or at-uri. Raises NotFound and NotOwner."""
    card = find(index, kind, name)
    if card.did != owner:
        raise NotOwner(f"This {kind} is somebody else's.")
    return card


def uri_of(card: Card) -> AtUri:
    """The record that an album or playlist is."""
    known: dict[str, Any] = orjson.loads(card.card)
    return AtUri.parse(known["atproto_record_uri" if "atproto_record_uri" in known else "uri"])


def title(album: Card) -> str:
    """What an album is called."""
    return str(orjson.loads(album.card)["title"])


def album(index: Index, owner: str, slug: str) -> Card:
    """The album that an artist's address names. Raises NotFound."""
    return _there(index.album(owner.removeprefix("@"), slug), "album")


def album_tracks(index: Index, album: Card, viewer: Viewer | None) -> list[Card]:
    """What is on an album, in order: the unlisted tracks too."""
    return _contents(index, album, viewer, "profile")


def playlist_tracks(index: Index, playlist: Card, viewer: Viewer | None) -> list[Card]:
    """What is in a playlist, in order."""
    return _contents(index, playlist, viewer, "discovery")


async def playlists_of(
    index: Index, showing: Showing, did: str, viewer: Viewer | None, after: Position | None, limit: int
) -> Page[dict[str, Any]]:
    """The playlists of an account that its profile shows to this viewer, newest first; to the owner, all.

    They are read by `limit` at a time until as many are found, or MOST_ROWS were looked at.
    """
    is_own = viewer is not None and viewer.did == did
    found: list[dict[str, Any]] = []
    for _ in range(max(MOST_ROWS // limit, 1)):
        page = index.list_page("playlist", after, limit, artist_did=did)
        told = [orjson.loads(card.card) for card in page.items]
        chosen = await showing.among([playlist["atproto_record_uri"] for playlist in told])
        placed = [with_choice(playlist, chosen.get(playlist["atproto_record_uri"])) for playlist in told]
        found += [playlist for playlist in placed if is_own or playlist["show_on_profile"]]
        after = page.after
        if after is None or len(found) >= limit:
            break
    return Page(found, after)


def with_choice(playlist: dict[str, Any], chosen: bool | None) -> dict[str, Any]:
    """A playlist with what its owner chose about showing it on their profile, if anything."""
    return playlist if chosen is None else {**playlist, "show_on_profile": chosen}


def summary(album: Card) -> bytes:
    """An album as lists show it, as JSON."""
    metadata: dict[str, Any] = orjson.loads(album.card)
    return orjson.dumps({name: metadata[name] for name in _SUMMARY})


def _contents(index: Index, card: Card, viewer: Viewer | None, place: Place) -> list[Card]:
    return tracks.seen(index.tracks(card.items), viewer, place)


def _there(card: Card | None, kind: str) -> Card:
    if card is None:
        raise NotFound(f"There is no such {kind}.")
    return card
