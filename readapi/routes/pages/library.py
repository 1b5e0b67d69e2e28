"""The pages of the signed-in account's library: the tracks it likes, and its playlists."""

from readapi.answers import Answer
from readapi.errors import Conflict, InvalidRequest, NotFound, NotOwner
from readapi.http.request.headers import Accept
from readapi.http.supporters import Supporters
from readapi.http.viewer import InSession
from readapi.index import cursors
from readapi.index.cursors import Cursor
from readapi.index.lookups import Index
from readapi.index.queries import library
from readapi.index.queries.identifiers import ListName
from readapi.pages import notices, responses
from readapi.pages.page_routes import PageRoutes
from readapi.pages.public import content, library_views
from readapi.pages.public.browsing import MOST_TRACKS
from readapi.pages.public.forms import PlaceForm, PlaylistForm
from readapi.pages.public.playlist_pages import PlaylistPages
from readapi.pages.render import Renderer
from readapi.pds.records import lists as authoring
from readapi.pds.repo import REFUSALS

routes = PageRoutes()

CHANGES = (NotFound, NotOwner, Conflict, InvalidRequest, *REFUSALS)
_LIKED = "page of likes"
_EDITED = "/playlists/{playlist_id}"


@routes.page("/liked")
async def liked_page(
    index: Index, supporters: Supporters, who: InSession | None, renderer: Renderer, cursor: Cursor = None
) -> Answer[str]:
    """Show the tracks that the account likes, the last liked first; to others, the sign-in page."""
    if who is None:
        return responses.sign_in("/liked")
    after = cursors.read_position(cursor, _LIKED)
    shelf = library.liked_tracks(index, who.viewer, "", "recent", after, MOST_TRACKS)
    found = await content.load_tracks(supporters, shelf.page.items, who.viewer)
    following = cursors.write_cursor(shelf.page.after, _LIKED)
    view = library_views.of_liked(found, shelf.total, following, renderer.addresses)
    return responses.public_page(renderer, "browse.html", view, who)


@routes.page("/playlists")
async def playlists_page(
    who: InSession | None, shelves: PlaylistPages, note: str | None = None, cursor: Cursor = None
) -> Answer[str]:
    """Show the account's playlists and the form for a new one; to others, the sign-in page."""
    if who is None:
        return responses.sign_in("/playlists", note)
    return await shelves.all(who, note=notices.find_notice(note), cursor=cursor)


@routes.page("/playlists/{playlist_id}", raises=(NotFound, NotOwner))
async def edit_playlist_page(
    playlist_id: ListName, who: InSession | None, shelves: PlaylistPages, note: str | None = None
) -> Answer[str]:
    """Show a playlist of the account with what can be changed about it."""
    if who is None:
        return responses.sign_in(f"/playlists/{playlist_id}", note)
    return await shelves.one(who, playlist_id, note=notices.find_notice(note))


@routes.deed("/playlists", requires=("list",), raises=(InvalidRequest, *REFUSALS), form_on="/playlists")
async def create_playlist(
    sent: PlaylistForm, who: InSession, accept: Accept, shelves: PlaylistPages
) -> Answer[str]:
    """Create an empty playlist."""
    return await shelves.create(who, sent, accept)


@routes.deed("/playlists/{playlist_id}", requires=("list",), raises=CHANGES, form_on=_EDITED)
async def save_playlist(
    playlist_id: ListName, sent: PlaylistForm, who: InSession, accept: Accept, shelves: PlaylistPages
) -> Answer[str]:
    """Rename a playlist, and choose whether the profile shows it."""
    return await shelves.save(who, playlist_id, sent, accept)


@routes.deed("/playlists/{playlist_id}/order", requires=("list",), raises=CHANGES, form_on=_EDITED)
async def move_in_playlist(
    playlist_id: ListName, sent: PlaceForm, who: InSession, accept: Accept, shelves: PlaylistPages
) -> Answer[str]:
    """Move a track of a playlist to right before another, or to the end."""
    return await shelves.change(
        who, playlist_id, sent, accept, lambda found: authoring.move_item(found, sent.track, sent.before)
    )


@routes.deed("/playlists/{playlist_id}/remove", requires=("list",), raises=CHANGES, form_on=_EDITED)
async def remove_from_playlist(
    playlist_id: ListName, sent: PlaceForm, who: InSession, accept: Accept, shelves: PlaylistPages
) -> Answer[str]:
    """Remove a track from a playlist."""
    return await shelves.change(
        who, playlist_id, sent, accept, lambda found: authoring.remove_track(found, sent.track)
    )


@routes.deed("/playlists/{playlist_id}/delete", requires=("list",), raises=CHANGES, form_on=_EDITED)
async def drop_playlist(
    playlist_id: ListName, who: InSession, accept: Accept, shelves: PlaylistPages
) -> Answer[str]:
    """Delete a playlist. Its tracks stay."""
    return await shelves.delete(who, playlist_id, accept)
