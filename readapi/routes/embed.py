"""Players to be framed by other people's pages."""

from readapi.answers import HTML, Answer
from readapi.endpoint import Routes
from readapi.errors import NotFound
from readapi.pages import addresses, answer, views
from readapi.pages.render import Renderer
from readapi.queries import pages
from readapi.search import Index

routes = Routes("embed")


@routes.get("/embed/track/{track_id}", media_types=(HTML,), raises=(NotFound,))
async def embed_track(track_id: str, index: Index, renderer: Renderer) -> Answer[str]:
    """Play a track, or say why it cannot be played. It goes by its id or its at-uri."""
    target = addresses.track_target(track_id)
    track = pages.track(index, target) if target else None
    if track is None:
        raise NotFound
    return answer.page(renderer, "embed_track.html", views.of_track(track, renderer.addresses))


@routes.get("/embed/album/{handle}/{slug}", media_types=(HTML,), raises=(NotFound,))
async def embed_album(handle: str, slug: str, index: Index, renderer: Renderer) -> Answer[str]:
    """Play an album."""
    found = pages.album(index, handle, slug)
    if found is None:
        raise NotFound
    return answer.page(renderer, "embed_list.html", views.of_album(*found, renderer.addresses))


@routes.get("/embed/playlist/{playlist_id}", media_types=(HTML,), raises=(NotFound,))
async def embed_playlist(playlist_id: str, index: Index, renderer: Renderer) -> Answer[str]:
    """Play a playlist. It goes by its id or its at-uri."""
    target = addresses.playlist_target(playlist_id)
    found = pages.playlist(index, target) if target else None
    if found is None:
        raise NotFound
    return answer.page(renderer, "embed_list.html", views.of_playlist(*found, renderer.addresses))
