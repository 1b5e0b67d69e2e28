"""Albums and their tracks."""

from readapi import cursors, present
from readapi.answers import Answer
from readapi.cards import Card
from readapi.cursors import Cursor, Limit
from readapi.endpoint import Routes
from readapi.paging import Page
from readapi.queries import artists, lists, social
from readapi.queries.names import ArtistName, ListName
from readapi.search import Index
from schemas.access import Viewer
from schemas.api.albums import Album, AlbumPage

routes = Routes("albums")


@routes.get("/albums/")
async def list_albums(index: Index, limit: Limit = 50, cursor: Cursor = None) -> Answer[AlbumPage]:
    """List all albums, newest first."""
    return _page(index.list_page("album", cursors.read(cursor, "albums"), limit))


@routes.get("/albums/{handle}")
async def albums_of(
    handle: ArtistName, index: Index, limit: Limit = 50, cursor: Cursor = None
) -> Answer[AlbumPage]:
    """List an artist's albums, newest first."""
    artist = artists.find(index, handle)
    return _page(index.list_page("album", cursors.read(cursor, "albums"), limit, artist_did=artist.did))


@routes.get("/albums/by-id/{album_id}")
async def album_by_id(album_id: ListName, index: Index, viewer: Viewer | None) -> Answer[Album]:
    """Return an album and its tracks."""
    return _whole(index, lists.find(index, "album", album_id), viewer)


@routes.get("/albums/{handle}/{slug}")
async def get_album(handle: ArtistName, slug: str, index: Index, viewer: Viewer | None) -> Answer[Album]:
    """Return the album that an artist's address names, and its tracks."""
    return _whole(index, lists.album(index, handle, slug), viewer)


def _page(page: Page[Card]) -> Answer[AlbumPage]:
    following = present.rest(cursors.write(page.after, "albums"))
    return present.answer(present.record(albums=present.array(map(lists.summary, page.items)), **following))


def _whole(index: Index, album: Card, viewer: Viewer | None) -> Answer[Album]:
    tracks = lists.album_tracks(index, album, viewer)
    shown = present.tracks(tracks, viewer, social.liked(index, tracks, viewer))
    return present.answer(present.record(metadata=album.card, tracks=shown))
