"""Public pages: what people see where programs see JSON."""

from readapi import cursors
from readapi.answers import HTML, Answer
from readapi.cursors import Cursor
from readapi.endpoint import Routes
from readapi.errors import NotFound
from readapi.pages import addresses, answer, metadata, policy, views
from readapi.pages.render import Renderer
from readapi.pages.sound import sound
from readapi.paging import Position
from readapi.queries import pages
from readapi.search import Index

routes = Routes("pages")

_ORDER = "artist page"


@routes.get("/", media_types=(HTML,))
async def home(renderer: Renderer) -> Answer[str]:
    """Say what this is, and where to go on."""
    headers = policy.page_headers(renderer.addresses.base_url)
    return Answer(renderer.page("home.html"), HTML, headers=headers)


@routes.get("/track/{track_id}", media_types=(HTML,), raises=(NotFound,))
async def track_page(track_id: str, index: Index, renderer: Renderer) -> Answer[str]:
    """Show a track. It goes by its id or its at-uri."""
    target = addresses.track_target(track_id)
    track = pages.track(index, target) if target else None
    if track is None:
        raise NotFound
    return answer.page(renderer, "track.html", views.of_track(track, renderer.addresses))


@routes.get("/u/{handle}", media_types=(HTML,), raises=(NotFound,))
async def artist_page(handle: str, index: Index, renderer: Renderer, cursor: Cursor = None) -> Answer[str]:
    """Show an artist. They go by handle or DID."""
    position = cursors.decode(cursor, _ORDER, int, int)
    shelf = pages.shelf(index, handle, Position(*position) if position else None)
    if shelf is None:
        raise NotFound
    sounds = [sound(track, renderer.addresses) for track in shelf.tracks]
    view = {
        "head": metadata.of_artist(shelf.artist, renderer.addresses),
        "artist": shelf.artist,
        "albums": shelf.albums,
        "playlists": shelf.playlists,
        "sounds": sounds,
        "first": views.playable(sounds),
        "older": f"?cursor={cursors.encode(_ORDER, *shelf.older)}" if shelf.older else None,
    }
    return answer.page(renderer, "artist.html", view)


@routes.get("/u/{handle}/album/{slug}", media_types=(HTML,), raises=(NotFound,))
async def album_page(handle: str, slug: str, index: Index, renderer: Renderer) -> Answer[str]:
    """Show an album."""
    found = pages.album(index, handle, slug)
    if found is None:
        raise NotFound
    return answer.page(renderer, "list.html", views.of_album(*found, renderer.addresses))


@routes.get("/playlist/{playlist_id}", media_types=(HTML,), raises=(NotFound,))
async def playlist_page(playlist_id: str, index: Index, renderer: Renderer) -> Answer[str]:
    """Show a playlist. It goes by its id or its at-uri."""
    target = addresses.playlist_target(playlist_id)
    found = pages.playlist(index, target) if target else None
    if found is None:
        raise NotFound
    return answer.page(renderer, "list.html", views.of_playlist(*found, renderer.addresses))
