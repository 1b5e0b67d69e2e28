"""What pages and players show: records with their tracks, as strangers may see them."""

from dataclasses import dataclass

import orjson
from pydantic import TypeAdapter

from readapi import present
from readapi.cards import Card
from readapi.pages.addresses import AlbumPage, PlaylistPage, RecordPage, Target, TrackPage
from readapi.paging import Page, Position
from readapi.search import Index
from schemas.access import Place, may_see
from schemas.api.albums import AlbumMetadata
from schemas.api.artists import Artist
from schemas.api.playlists import Playlist
from schemas.api.tracks import Track

MOST_TRACKS = 50  # of an artist, on one page
MOST_LISTS = 100

_TRACKS = TypeAdapter(list[Track])


@dataclass(frozen=True, slots=True)
class Shelf:
    """What an artist's page shows: one page of tracks, and the newest albums and playlists."""

    artist: Artist
    tracks: list[Track]
    older: Position | None
    albums: list[AlbumMetadata]
    playlists: list[Playlist]


def find(index: Index, target: Target) -> Card | None:
    """The track, album or playlist that an address means, if a stranger may see it."""
    match target:
        case TrackPage(track_id):
            return _seen(index.track(track_id))
        case AlbumPage(artist, slug):
            return index.album(artist, slug)
        case PlaylistPage(playlist_id):
            return index.find_list("playlist", playlist_id)
        case RecordPage(uri):
            found = _seen(index.track_at(str(uri))) or index.find_list("album", str(uri))
            return found or index.find_list("playlist", str(uri))


def track(index: Index, target: TrackPage | RecordPage) -> Track | None:
    """A track."""
    card = find(index, target)
    return _tracks([card])[0] if card and card.doc.startswith("track:") else None


def album(index: Index, artist: str, slug: str) -> tuple[AlbumMetadata, list[Track]] | None:
    """An album and those of its tracks that are shown on their artist's profile."""
    card = index.album(artist, slug)
    return (AlbumMetadata.model_validate_json(card.card), _items(index, card, "profile")) if card else None


def playlist(index: Index, target: PlaylistPage | RecordPage) -> tuple[Playlist, list[Track]] | None:
    """A playlist and those of its tracks that are shown in other people's lists."""
    name = target.playlist_id if isinstance(target, PlaylistPage) else str(target.uri)
    card = index.find_list("playlist", name)
    return (Playlist.model_validate_json(card.card), _items(index, card, "discovery")) if card else None


def shelf(index: Index, name: str, after: Position | None) -> Shelf | None:
    """Everything of an artist, who goes by handle or DID."""
    card = index.artist(name)
    if card is None:
        return None
    tracks: Page[Card] = index.track_page("profile", "recent", after, MOST_TRACKS, artist_did=card.did)
    albums = index.list_page("album", None, MOST_LISTS, artist_did=card.did)
    playlists = index.list_page("playlist", None, MOST_LISTS, artist_did=card.did)
    return Shelf(
        Artist.model_validate_json(card.card),
        _tracks(tracks.items),
        tracks.after,
        [AlbumMetadata.model_validate_json(found.card) for found in albums.items],
        [Playlist.model_validate_json(found.card) for found in playlists.items],
    )


def members(card: Card) -> dict[str, object]:
    """The members of a card, without checking them again."""
    is_track = card.doc.startswith("track:")
    found: dict[str, object] = orjson.loads(present.track(card, None) if is_track else card.card)
    return found


def _seen(card: Card | None) -> Card | None:
    return card if card is not None and may_see(card.access, None, "direct") else None


def _items(index: Index, card: Card, place: Place) -> list[Track]:
    return _tracks([found for found in index.tracks(card.items) if may_see(found.access, None, place)])


def _tracks(cards: list[Card]) -> list[Track]:
    return _TRACKS.validate_json(present.tracks(cards, None))
