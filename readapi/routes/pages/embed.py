"""Players to embed in other sites.

Viewers are always anonymous here: browsers send no cookies of this service to a frame in another site.
"""

from readapi.answers import HTML, Answer
from readapi.http.endpoint import Routes
from readapi.http.supporters import Supporters
from readapi.index.lookups import Index
from readapi.index.queries import tracks
from readapi.index.queries.identifiers import ArtistName, ListName, TrackName
from readapi.pages import responses
from readapi.pages.public import content, views
from readapi.pages.render import Renderer

routes = Routes("embed")


@routes.get("/embed/track/{track_id}", media_types=(HTML,), prompt=True)
async def embed_track(
    track_id: TrackName, index: Index, supporters: Supporters, renderer: Renderer
) -> Answer[str]:
    """Show the player of a track, or why it cannot be played."""
    card = tracks.find_track(index, track_id, None)
    (track,) = await content.load_tracks(supporters, [card], None)
    return responses.public_page(
        renderer, "embed_track.html", views.of_track(track, card.thumb, renderer.addresses)
    )


@routes.get("/embed/album/{handle}/{slug}", media_types=(HTML,), prompt=True)
async def embed_album(
    handle: ArtistName, slug: str, index: Index, supporters: Supporters, renderer: Renderer
) -> Answer[str]:
    """Show the player of an album."""
    view = views.of_album(
        *await content.album_content(index, supporters, None, handle, slug), renderer.addresses
    )
    return responses.public_page(renderer, "embed_list.html", view)


@routes.get("/embed/playlist/{playlist_id}", media_types=(HTML,), prompt=True)
async def embed_playlist(
    playlist_id: ListName, index: Index, supporters: Supporters, renderer: Renderer
) -> Answer[str]:
    """Show the player of a playlist."""
    view = views.of_playlist(
        *await content.playlist_content(index, supporters, None, playlist_id), renderer.addresses
    )
    return responses.public_page(renderer, "embed_list.html", view)
