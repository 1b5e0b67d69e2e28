"""Public pages of tracks, artists, albums and playlists, each as the viewer may see it."""

from typing import Annotated

from pydantic import Field

from readapi.answers import HTML, Answer
from readapi.errors import NotFound, PdsUnavailable, SessionExpired
from readapi.http.endpoint import Routes
from readapi.http.supporters import Supporters
from readapi.http.viewer import SignedIn, viewer_of
from readapi.index import cursors
from readapi.index.cursors import Cursor
from readapi.index.lookups import Index
from readapi.index.queries.identifiers import ArtistName, ListName, TrackName
from readapi.pages import notices, responses, text
from readapi.pages.public import content, library_views, views
from readapi.pages.public.adult import shows_adult
from readapi.pages.public.track_pages import TrackPages
from readapi.pages.render import Renderer
from readapi.state.publishing.profile_visibility import ProfileVisibility
from readapi.state.state import State
from schemas.settings import Settings

routes = Routes("pages")

_ORDER = "page of an artist"
_LIKES = "page of an account's likes"


@routes.get("/track/{track_id}", media_types=(HTML,), raises=(NotFound, PdsUnavailable, SessionExpired))
async def track_page(
    track_id: TrackName,
    who: SignedIn | None,
    pages: TrackPages,
    t: Annotated[str, Field(max_length=20, description="Where to begin, in seconds.")] = "",
    note: str | None = None,
) -> Answer[str]:
    """Show a track; one in a private Space only to viewers that the Space admits."""
    found = None if who is None else notices.find_notice(note)
    return await pages.show(who, track_id, text.parse_clock(t) or 0, note=found)


@routes.get("/u/{handle}", media_types=(HTML,))
async def artist_page(
    handle: ArtistName,
    index: Index,
    showing: ProfileVisibility,
    settings: Settings,
    supporters: Supporters,
    state: State,
    who: SignedIn | None,
    renderer: Renderer,
    cursor: Cursor = None,
) -> Answer[str]:
    """Show an artist's profile, tracks, albums, playlists and last likes."""
    after = cursors.read_position(cursor, _ORDER)
    adult = await shows_adult(state, who)
    shelf = await content.artist_content(
        index, showing, settings.collections, supporters, viewer_of(who), handle, after, adult=adult
    )
    view = views.of_shelf(shelf, cursors.write_cursor(shelf.older, _ORDER), renderer.addresses)
    return responses.public_page(renderer, "artist.html", view, who)


@routes.get("/u/{handle}/likes", media_types=(HTML,))
async def likes_page(
    handle: ArtistName,
    index: Index,
    showing: ProfileVisibility,
    settings: Settings,
    supporters: Supporters,
    state: State,
    who: SignedIn | None,
    renderer: Renderer,
    cursor: Cursor = None,
) -> Answer[str]:
    """Show the tracks that an account likes, unless it hides them: the last liked first."""
    after = cursors.read_position(cursor, _LIKES)
    adult = await shows_adult(state, who)
    artist, found, total, older = await content.likes_content(
        index, showing, settings.collections, supporters, viewer_of(who), handle, after, adult=adult
    )
    following = cursors.write_cursor(older, _LIKES)
    view = library_views.of_likes(artist, found, total, following, renderer.addresses)
    return responses.public_page(renderer, "browse.html", view, who)


@routes.get("/u/{handle}/album/{slug}", media_types=(HTML,))
async def album_page(
    handle: ArtistName,
    slug: str,
    index: Index,
    supporters: Supporters,
    state: State,
    who: SignedIn | None,
    renderer: Renderer,
) -> Answer[str]:
    """Show an album."""
    adult = await shows_adult(state, who)
    found = await content.album_content(index, supporters, viewer_of(who), handle, slug, adult=adult)
    view = views.of_album(*found, renderer.addresses, adult=adult)
    return responses.public_page(renderer, "list.html", view, who)


@routes.get("/playlist/{playlist_id}", media_types=(HTML,))
async def playlist_page(
    playlist_id: ListName,
    index: Index,
    supporters: Supporters,
    state: State,
    who: SignedIn | None,
    renderer: Renderer,
) -> Answer[str]:
    """Show a playlist."""
    adult = await shows_adult(state, who)
    found = await content.playlist_content(index, supporters, viewer_of(who), playlist_id, adult=adult)
    view = views.of_playlist(*found, renderer.addresses, adult=adult)
    return responses.public_page(renderer, "list.html", view, who)
