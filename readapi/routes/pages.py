"""Public pages: what people see where programs see JSON, each as whoever looks may see and hear it."""

from readapi import cursors
from readapi.answers import HTML, Answer
from readapi.cursors import Cursor
from readapi.endpoint import Routes
from readapi.errors import NotFound, PdsUnavailable, SessionExpired
from readapi.pages import answer, policy, views
from readapi.pages.render import Renderer
from readapi.publishing.supporters import Supporters
from readapi.queries import pages
from readapi.queries.names import ArtistName, ListName, TrackName
from readapi.search import Index
from readapi.spaces.finder import Finder
from readapi.state.showing import Showing
from readapi.viewer import SignedIn
from schemas.access import Viewer

routes = Routes("pages")

_ORDER = "page of an artist"


@routes.get("/", media_types=(HTML,))
async def home(renderer: Renderer) -> Answer[str]:
    """Say what this is, and where to go on."""
    return Answer(renderer.page("home.html"), HTML, headers=policy.bare_headers())


@routes.get("/track/{track_id}", media_types=(HTML,), raises=(NotFound, PdsUnavailable, SessionExpired))
async def track_page(
    track_id: TrackName, finder: Finder, supporters: Supporters, who: SignedIn | None, renderer: Renderer
) -> Answer[str]:
    """Show a track; one in a private Space to those whom the Space lets in."""
    card, viewer = await finder.show(track_id, who)
    (track,) = await pages.shown(supporters, [card], viewer)
    view = views.of_track(track, card.thumb, renderer.addresses)
    return answer.page(renderer, "track.html", view, is_personal=who is not None)


@routes.get("/u/{handle}", media_types=(HTML,))
async def artist_page(
    handle: ArtistName,
    index: Index,
    showing: Showing,
    supporters: Supporters,
    viewer: Viewer | None,
    renderer: Renderer,
    cursor: Cursor = None,
) -> Answer[str]:
    """Show an artist, and what there is of them."""
    shelf = await pages.shelf(index, showing, supporters, viewer, handle, cursors.read(cursor, _ORDER))
    view = views.of_shelf(shelf, cursors.write(shelf.older, _ORDER), renderer.addresses)
    return answer.page(renderer, "artist.html", view, is_personal=viewer is not None)


@routes.get("/u/{handle}/album/{slug}", media_types=(HTML,))
async def album_page(
    handle: ArtistName,
    slug: str,
    index: Index,
    supporters: Supporters,
    viewer: Viewer | None,
    renderer: Renderer,
) -> Answer[str]:
    """Show an album."""
    found = await pages.album(index, supporters, viewer, handle, slug)
    view = views.of_album(*found, renderer.addresses)
    return answer.page(renderer, "list.html", view, is_personal=viewer is not None)


@routes.get("/playlist/{playlist_id}", media_types=(HTML,))
async def playlist_page(
    playlist_id: ListName, index: Index, supporters: Supporters, viewer: Viewer | None, renderer: Renderer
) -> Answer[str]:
    """Show a playlist."""
    found = await pages.playlist(index, supporters, viewer, playlist_id)
    view = views.of_playlist(*found, renderer.addresses)
    return answer.page(renderer, "list.html", view, is_personal=viewer is not None)
