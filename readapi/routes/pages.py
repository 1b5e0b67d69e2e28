"""Public pages: what people see where programs see JSON."""

from readapi import cursors
from readapi.answers import HTML, Answer
from readapi.cursors import Cursor
from readapi.endpoint import Routes
from readapi.pages import answer, policy, views
from readapi.pages.render import Renderer
from readapi.queries import pages
from readapi.queries.names import ArtistName, ListName, TrackName
from readapi.search import Index
from readapi.state.showing import Showing

routes = Routes("pages")

_ORDER = "page of an artist"


@routes.get("/", media_types=(HTML,))
async def home(renderer: Renderer) -> Answer[str]:
    """Say what this is, and where to go on."""
    return Answer(renderer.page("home.html"), HTML, headers=policy.bare_headers())


@routes.get("/track/{track_id}", media_types=(HTML,))
async def track_page(track_id: TrackName, index: Index, renderer: Renderer) -> Answer[str]:
    """Show a track."""
    view = views.of_track(pages.track(index, track_id), renderer.addresses)
    return answer.page(renderer, "track.html", view)


@routes.get("/u/{handle}", media_types=(HTML,))
async def artist_page(
    handle: ArtistName, index: Index, showing: Showing, renderer: Renderer, cursor: Cursor = None
) -> Answer[str]:
    """Show an artist, and what there is of them."""
    shelf = await pages.shelf(index, showing, handle, cursors.read(cursor, _ORDER))
    view = views.of_shelf(shelf, cursors.write(shelf.older, _ORDER), renderer.addresses)
    return answer.page(renderer, "artist.html", view)


@routes.get("/u/{handle}/album/{slug}", media_types=(HTML,))
async def album_page(handle: ArtistName, slug: str, index: Index, renderer: Renderer) -> Answer[str]:
    """Show an album."""
    view = views.of_album(*pages.album(index, handle, slug), renderer.addresses)
    return answer.page(renderer, "list.html", view)


@routes.get("/playlist/{playlist_id}", media_types=(HTML,))
async def playlist_page(playlist_id: ListName, index: Index, renderer: Renderer) -> Answer[str]:
    """Show a playlist."""
    view = views.of_playlist(*pages.playlist(index, playlist_id), renderer.addresses)
    return answer.page(renderer, "list.html", view)
