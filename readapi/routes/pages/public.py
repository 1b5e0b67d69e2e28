"""Public pages of tracks, artists, albums and playlists, each as the viewer may see it."""

from typing import Annotated

from pydantic import Field

from readapi.answers import HTML, Answer
from readapi.audio.select import AudioSelection
from readapi.errors import NotFound, PdsUnavailable, SessionExpired
from readapi.http.endpoint import Routes
from readapi.http.supporters import Supporters
from readapi.http.viewer import SignedIn, viewer_of
from readapi.index import cursors
from readapi.index.cursors import Cursor
from readapi.index.lookups import Index
from readapi.index.queries.identifiers import ArtistName, ListName, TrackName
from readapi.pages import responses, text
from readapi.pages.public import content, reactions, views
from readapi.pages.render import Renderer
from readapi.spaces.find_track import SpaceTrackFinder
from readapi.state.publishing.profile_visibility import ProfileVisibility

routes = Routes("pages")

_ORDER = "page of an artist"


@routes.get("/track/{track_id}", media_types=(HTML,), raises=(NotFound, PdsUnavailable, SessionExpired))
async def track_page(
    track_id: TrackName,
    finder: SpaceTrackFinder,
    supporters: Supporters,
    who: SignedIn | None,
    renderer: Renderer,
    index: Index,
    showing: ProfileVisibility,
    sources: AudioSelection,
    t: Annotated[str, Field(max_length=20, description="Where to begin, in seconds.")] = "",
) -> Answer[str]:
    """Show a track; one in a private Space only to viewers that the Space admits."""
    card, viewer = await finder.show(track_id, who)
    (track,) = await content.load_tracks(supporters, [card], viewer)
    around = await reactions.load_reactions(index, supporters, showing, card, viewer, renderer.addresses)
    view = {
        **views.of_track(track, card.thumb, renderer.addresses, text.parse_clock(t) or 0),
        "around": around,
        "waveform": views.draw_waveform(await sources.peaks(card, viewer)),
        "own_did": None if who is None else who.did,
    }
    return responses.public_page(renderer, "track.html", view, who)


@routes.get("/u/{handle}", media_types=(HTML,))
async def artist_page(
    handle: ArtistName,
    index: Index,
    showing: ProfileVisibility,
    supporters: Supporters,
    who: SignedIn | None,
    renderer: Renderer,
    cursor: Cursor = None,
) -> Answer[str]:
    """Show an artist's profile, tracks, albums and playlists."""
    shelf = await content.artist_content(
        index, showing, supporters, viewer_of(who), handle, cursors.read_position(cursor, _ORDER)
    )
    view = views.of_shelf(shelf, cursors.write_cursor(shelf.older, _ORDER), renderer.addresses)
    return responses.public_page(renderer, "artist.html", view, who)


@routes.get("/u/{handle}/album/{slug}", media_types=(HTML,))
async def album_page(
    handle: ArtistName,
    slug: str,
    index: Index,
    supporters: Supporters,
    who: SignedIn | None,
    renderer: Renderer,
) -> Answer[str]:
    """Show an album."""
    found = await content.album_content(index, supporters, viewer_of(who), handle, slug)
    view = views.of_album(*found, renderer.addresses)
    return responses.public_page(renderer, "list.html", view, who)


@routes.get("/playlist/{playlist_id}", media_types=(HTML,))
async def playlist_page(
    playlist_id: ListName, index: Index, supporters: Supporters, who: SignedIn | None, renderer: Renderer
) -> Answer[str]:
    """Show a playlist."""
    found = await content.playlist_content(index, supporters, viewer_of(who), playlist_id)
    view = views.of_playlist(*found, renderer.addresses)
    return responses.public_page(renderer, "list.html", view, who)
