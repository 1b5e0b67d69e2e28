"""Players to embed in other sites.

Viewers are always anonymous here: browsers send no cookies of this service to a frame in another site.
"""

from typing import Annotated

from pydantic import Field

from readapi.answers import HTML, Answer
from readapi.http.endpoint import Routes
from readapi.http.supporters import Supporters
from readapi.index.lookups import Index
from readapi.index.queries import tracks
from readapi.index.queries.identifiers import ArtistName, ListName, TrackName
from readapi.index.queries.tracks import Adult
from readapi.pages import responses, text
from readapi.pages.public import content, views
from readapi.pages.public.look import HEX, Look, Theme
from readapi.pages.render import Renderer

routes = Routes("embed")

Color = Annotated[str | None, Field(pattern=HEX, description="Three or six hexadecimal digits.")]
Start = Annotated[str, Field(max_length=20, description="Where to begin, in seconds.")]


@routes.get("/embed/track/{track_id}", media_types=(HTML,), prompt=True)
async def embed_track(
    track_id: TrackName,
    index: Index,
    supporters: Supporters,
    renderer: Renderer,
    theme: Theme = "auto",
    color: Color = None,
    t: Start = "",
    adult: Adult = False,
) -> Answer[str]:
    """Show the player of a track, or why it cannot be played."""
    card = tracks.find_embedded_track(index, track_id, adult=adult)
    (track,) = await content.load_tracks(supporters, [card], None)
    view = views.of_track(track, card.thumb, renderer.addresses)
    return _player(renderer, "embed_track.html", view, Look(theme, color), t)


@routes.get("/embed/artist/{handle}", media_types=(HTML,), prompt=True)
async def embed_artist(
    handle: ArtistName,
    index: Index,
    supporters: Supporters,
    renderer: Renderer,
    theme: Theme = "auto",
    color: Color = None,
    t: Start = "",
) -> Answer[str]:
    """Show the player of an artist's newest tracks."""
    found = await content.newest_of_artist(index, supporters, None, handle)
    view = views.of_artist_player(*found, renderer.addresses)
    return _player(renderer, "embed_list.html", view, Look(theme, color), t)


@routes.get("/embed/album/{handle}/{slug}", media_types=(HTML,), prompt=True)
async def embed_album(
    handle: ArtistName,
    slug: str,
    index: Index,
    supporters: Supporters,
    renderer: Renderer,
    theme: Theme = "auto",
    color: Color = None,
    t: Start = "",
    adult: Adult = False,
) -> Answer[str]:
    """Show the player of an album."""
    found = await content.album_content(index, supporters, None, handle, slug, adult=adult, embedded=True)
    view = views.of_album(*found, renderer.addresses, adult=adult)
    return _player(renderer, "embed_list.html", view, Look(theme, color), t)


@routes.get("/embed/playlist/{playlist_id}", media_types=(HTML,), prompt=True)
async def embed_playlist(
    playlist_id: ListName,
    index: Index,
    supporters: Supporters,
    renderer: Renderer,
    theme: Theme = "auto",
    color: Color = None,
    t: Start = "",
    adult: Adult = False,
) -> Answer[str]:
    """Show the player of a playlist."""
    found = await content.playlist_content(index, supporters, None, playlist_id, adult=adult, embedded=True)
    view = views.of_playlist(*found, renderer.addresses, adult=adult)
    return _player(renderer, "embed_list.html", view, Look(theme, color), t)


def _player(renderer: Renderer, template: str, view: views.View, look: Look, t: str) -> Answer[str]:
    return responses.player_page(renderer, template, view, look, text.parse_clock(t) or 0)
