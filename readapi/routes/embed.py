"""Players to be framed by other people's pages."""

from readapi.answers import HTML, Answer
from readapi.endpoint import Routes
from readapi.pages import answer, views
from readapi.pages.render import Renderer
from readapi.queries import pages
from readapi.queries.names import ArtistName, ListName, TrackName
from readapi.search import Index

routes = Routes("embed")


@routes.get("/embed/track/{track_id}", media_types=(HTML,))
async def embed_track(track_id: TrackName, index: Index, renderer: Renderer) -> Answer[str]:
    """Play a track, or say why it cannot be played."""
    view = views.of_track(pages.track(index, track_id), renderer.addresses)
    return answer.page(renderer, "embed_track.html", view)


@routes.get("/embed/album/{handle}/{slug}", media_types=(HTML,))
async def embed_album(handle: ArtistName, slug: str, index: Index, renderer: Renderer) -> Answer[str]:
    """Play an album."""
    view = views.of_album(*pages.album(index, handle, slug), renderer.addresses)
    return answer.page(renderer, "embed_list.html", view)


@routes.get("/embed/playlist/{playlist_id}", media_types=(HTML,))
async def embed_playlist(playlist_id: ListName, index: Index, renderer: Renderer) -> Answer[str]:
    """Play a playlist."""
    view = views.of_playlist(*pages.playlist(index, playlist_id), renderer.addresses)
    return answer.page(renderer, "embed_list.html", view)
