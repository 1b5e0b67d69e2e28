"""Loads what public pages and players show: albums, playlists and profiles with the viewer's tracks."""

from collections.abc import Sequence, Set
from dataclasses import dataclass

from pydantic import TypeAdapter

from readapi.audio.select import is_elsewhere
from readapi.http.supporters import Supporters
from readapi.index import present
from readapi.index.lookups import Index
from readapi.index.paging import Position
from readapi.index.queries import artists, lists, tracks
from readapi.pds.records import profiles
from readapi.state.publishing.profile_visibility import ProfileVisibility
from schemas.access import Viewer
from schemas.api.albums import AlbumMetadata
from schemas.api.artists import Artist
from schemas.api.playlists import Playlist
from schemas.api.tracks import Track
from schemas.collections import Collections
from schemas.stored import Card

MOST_TRACKS = 50  # of an artist, on one page
MOST_LISTS = 100  # of each kind
_MOST_LIKES = 5

_TRACKS = TypeAdapter(list[Track])


@dataclass(frozen=True, slots=True)
class ArtistPage:
    """The content of an artist's page: one page of tracks, the newest albums, playlists and likes."""

    artist: Artist
    tracks: list[Track]
    older: Position | None
    albums: list[AlbumMetadata]
    playlists: list[Playlist]
    likes: list[Track]


async def load_tracks(supporters: Supporters, cards: Sequence[Card], viewer: Viewer | None) -> list[Track]:
    """API tracks of these cards, with the viewer's permissions."""
    viewer = await supporters.among(viewer, cards)
    return _TRACKS.validate_json(present.join_parts(present.render_tracks(cards, viewer, ())))


async def album_content(
    index: Index,
    supporters: Supporters,
    viewer: Viewer | None,
    owner: str,
    slug: str,
    *,
    adult: bool = False,
    embedded: bool = False,
) -> tuple[AlbumMetadata, list[Track], Set[str], tuple[int, int] | None]:
    """An album, its tracks, the uris of those elsewhere, and its picture's size. Raises NotFound."""
    card = lists.find_album(index, owner, slug)
    if embedded:
        tracks.refuse_adult(card, adult=adult)
    held = lists.album_tracks(index, card, viewer, adult=adult)
    return (
        AlbumMetadata.model_validate_json(card.card),
        await load_tracks(supporters, held, viewer),
        _elsewhere(held),
        card.thumb,
    )


async def playlist_content(
    index: Index,
    supporters: Supporters,
    viewer: Viewer | None,
    name: str,
    *,
    adult: bool = False,
    embedded: bool = False,
) -> tuple[Playlist, list[Track], Set[str], tuple[int, int] | None]:
    """A playlist, its tracks, the uris of those elsewhere, and its picture's size. Raises NotFound."""
    card = lists.find_list(index, "playlist", name)
    if embedded:
        tracks.refuse_adult(card, adult=adult)
    held = lists.playlist_tracks(index, card, viewer, adult=adult)
    return (
        Playlist.model_validate_json(card.card),
        await load_tracks(supporters, held, viewer),
        _elsewhere(held),
        card.thumb,
    )


async def newest_of_artist(
    index: Index, supporters: Supporters, viewer: Viewer | None, name: str
) -> tuple[Artist, list[Track]]:
    """An artist and the newest tracks. Raises NotFound."""
    card = artists.find_artist(index, name)
    page = index.track_page("profile", "recent", None, MOST_TRACKS, artist_did=card.did, viewer=viewer)
    held = await load_tracks(supporters, page.items, viewer)
    return Artist.model_validate_json(card.card), held


async def artist_content(
    index: Index,
    showing: ProfileVisibility,
    collections: Collections,
    supporters: Supporters,
    viewer: Viewer | None,
    name: str,
    after: Position | None,
    *,
    adult: bool = False,
) -> ArtistPage:
    """The content of an artist's page for the viewer. Raises NotFound."""
    card = artists.find_artist(index, name)
    page = index.track_page(
        "profile", "recent", after, MOST_TRACKS, artist_did=card.did, viewer=viewer, adult=adult
    )
    albums = index.list_page("album", None, MOST_LISTS, artist_did=card.did, adult=adult)
    playlists = await lists.playlists_of(index, showing, card.did, viewer, None, MOST_LISTS)
    likes = []
    if await profiles.shows_likes(showing, collections, card.did):
        likes = index.liked_page(card.did, None, _MOST_LIKES, adult=adult).items
    return ArtistPage(
        Artist.model_validate_json(card.card),
        await load_tracks(supporters, page.items, viewer),
        page.after,
        [AlbumMetadata.model_validate_json(found.card) for found in albums.items],
        [Playlist.model_validate(found) for found in playlists.items[:MOST_LISTS]],
        await load_tracks(supporters, likes, viewer),
    )


async def likes_content(
    index: Index,
    showing: ProfileVisibility,
    collections: Collections,
    supporters: Supporters,
    viewer: Viewer | None,
    name: str,
    after: Position | None,
    *,
    adult: bool = False,
) -> tuple[Artist, list[Track], int, Position | None]:
    """An account, public tracks that it likes, how many there are, and what follows. Raises NotFound.

    The number is without those for adults.
    """
    card = artists.find_artist(index, name)
    await profiles.require_likes(showing, collections, card.did, viewer)
    page = index.liked_page(card.did, after, MOST_TRACKS, adult=adult)
    found = await load_tracks(supporters, page.items, viewer)
    return Artist.model_validate_json(card.card), found, index.liked_count(card.did), page.after


def _elsewhere(cards: Sequence[Card]) -> Set[str]:
    return {str(tracks.track_uri(card)) for card in cards if is_elsewhere(card)}
