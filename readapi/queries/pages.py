"""What pages and players show: records with their tracks, as any stranger may see them."""

from dataclasses import dataclass

from pydantic import TypeAdapter

from readapi import present
from readapi.paging import Position
from readapi.queries import artists, lists, tracks
from readapi.search import Index
from readapi.state.showing import Showing
from schemas.api.albums import AlbumMetadata
from schemas.api.artists import Artist
from schemas.api.playlists import Playlist
from schemas.api.tracks import Track
from schemas.stored import Card

MOST_TRACKS = 50  # of an artist, on one page
MOST_LISTS = 100  # of each kind

_TRACKS = TypeAdapter(list[Track])


@dataclass(frozen=True, slots=True)
class Shelf:
    """What an artist's page shows: one page of tracks, and the newest albums and playlists."""

    artist: Artist
    tracks: list[Track]
    older: Position | None
    albums: list[AlbumMetadata]
    playlists: list[Playlist]


def track(index: Index, name: str) -> Track:
    """The track with an id or at-uri. Raises NotFound."""
    return _read([tracks.find(index, name, None)])[0]


def album(index: Index, owner: str, slug: str) -> tuple[AlbumMetadata, list[Track]]:
    """An album and what is on it. Raises NotFound."""
    card = lists.album(index, owner, slug)
    return AlbumMetadata.model_validate_json(card.card), _read(lists.album_tracks(index, card, None))


def playlist(index: Index, name: str) -> tuple[Playlist, list[Track]]:
    """A playlist and what is in it. Raises NotFound."""
    card = lists.find(index, "playlist", name)
    return Playlist.model_validate_json(card.card), _read(lists.playlist_tracks(index, card, None))


async def shelf(index: Index, showing: Showing, name: str, after: Position | None) -> Shelf:
    """Everything that an artist's profile shows to strangers. Raises NotFound."""
    card = artists.find(index, name)
    page = index.track_page("profile", "recent", after, MOST_TRACKS, artist_did=card.did)
    albums = index.list_page("album", None, MOST_LISTS, artist_did=card.did)
    playlists = await lists.playlists_of(index, showing, card.did, None, None, MOST_LISTS)
    return Shelf(
        Artist.model_validate_json(card.card),
        _read(page.items),
        page.after,
        [AlbumMetadata.model_validate_json(found.card) for found in albums.items],
        [Playlist.model_validate(found) for found in playlists.items[:MOST_LISTS]],
    )


def _read(cards: list[Card]) -> list[Track]:
    return _TRACKS.validate_json(present.together(present.tracks(cards, None, ())))
