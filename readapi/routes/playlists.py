"""Playlists and their tracks."""

from readapi import present
from readapi.answers import Answer
from readapi.cards import Card
from readapi.endpoint import Routes
from readapi.errors import NotFound
from readapi.queries import lists, social
from readapi.queries.names import AtUriName, DidName, ListName
from readapi.search import Index
from schemas.access import Viewer
from schemas.api.playlists import Playlist, PlaylistWithTracks

routes = Routes("playlists")


@routes.get("/lists/playlists/by-artist/{did}")
async def playlists_of(did: DidName, index: Index) -> Answer[list[Playlist]]:
    """List somebody's playlists, newest first, the newest thousand at most."""
    return Answer(present.array(lists.playlists_of(index, did)))


@routes.get("/lists/playlists/by-uri", raises=(NotFound,))
async def playlist_by_uri(uri: AtUriName, index: Index, viewer: Viewer | None) -> Answer[PlaylistWithTracks]:
    """Return the playlist that a record is, and its tracks."""
    return _whole(index, lists.find(index, "playlist", uri), viewer)


@routes.get("/lists/playlists/{playlist_id}")
async def get_playlist(
    playlist_id: ListName, index: Index, viewer: Viewer | None
) -> Answer[PlaylistWithTracks]:
    """Return a playlist and its tracks."""
    return _whole(index, lists.find(index, "playlist", playlist_id), viewer)


def _whole(index: Index, playlist: Card, viewer: Viewer | None) -> Answer[PlaylistWithTracks]:
    tracks = lists.playlist_tracks(index, playlist, viewer)
    shown = present.tracks(tracks, viewer, social.liked(index, tracks, viewer))
    return present.answer(present.extended(playlist, tracks=shown))
