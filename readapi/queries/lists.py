"""Albums and playlists, and the tracks that are in them."""

from typing import Any, Literal

import orjson

from readapi.errors import NotFound, NotOwner
from readapi.queries import names, tracks
from readapi.search import Index
from schemas.access import Place, Viewer
from schemas.ids import AtUri, Did
from schemas.stored import Card

MOST_PLAYLISTS = 1000
_CHUNK = 100
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


def playlists_of(index: Index, did: str) -> list[bytes]:
    """Somebody's playlists, newest first, at most MOST_PLAYLISTS."""
    found: list[bytes] = []
    after = None
    while len(found) < MOST_PLAYLISTS:
        page = index.list_page("playlist", after, _CHUNK, artist_did=did)
        found += [card.card for card in page.items]
        after = page.after
        if after is None:
            break
    return found


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
