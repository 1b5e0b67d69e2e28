"""The pages of the signed-in account's library: the tracks it likes, and its playlists."""

from readapi.answers import Answer
from readapi.errors import Conflict, InvalidRequest, NotFound, NotOwner
from readapi.http.supporters import Supporters
from readapi.http.viewer import InSession
from readapi.index import cursors
from readapi.index.cursors import Cursor
from readapi.index.lookups import Index
from readapi.index.queries import library, lists
from readapi.index.queries.identifiers import ListName
from readapi.pages import responses
from readapi.pages.page_routes import PageRoutes
from readapi.pages.public import content, library_views
from readapi.pages.public.browsing import MOST_TRACKS
from readapi.pages.public.content import MOST_LISTS
from readapi.pages.public.forms import PlaceForm, PlaylistForm
from readapi.pages.render import Renderer
from readapi.pds.records import lists as authoring
from readapi.pds.records import playlists
from readapi.pds.repo import REFUSALS
from readapi.pds.writing import Change, Writing
from readapi.state.publishing.profile_visibility import ProfileVisibility
from schemas.api.playlists import Playlist
from schemas.ids import list_id

routes = PageRoutes()

CHANGES = (NotFound, NotOwner, Conflict, InvalidRequest, *REFUSALS)
_LIKED = "page of likes"
_PLAYLISTS = "page of playlists"


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
    index: Index,
    showing: ProfileVisibility,
    who: InSession | None,
    renderer: Renderer,
    cursor: Cursor = None,
) -> Answer[str]:
    """Show the account's playlists and the form for a new one; to others, the sign-in page."""
    if who is None:
        return responses.sign_in("/playlists")
    after = cursors.read_position(cursor, _PLAYLISTS)
    page = await lists.playlists_of(index, showing, who.did, who.viewer, after, MOST_LISTS)
    following = cursors.write_cursor(page.after, _PLAYLISTS)
    view = library_views.of_playlists(
        [Playlist.model_validate(one) for one in page.items], following, renderer.addresses
    )
    return responses.public_page(renderer, "playlists.html", view, who)


@routes.page("/playlists/{playlist_id}", raises=(NotFound, NotOwner))
async def edit_playlist_page(
    playlist_id: ListName,
    index: Index,
    supporters: Supporters,
    showing: ProfileVisibility,
    who: InSession | None,
    renderer: Renderer,
) -> Answer[str]:
    """Show a playlist of the account with what can be changed about it."""
    if who is None:
        return responses.sign_in("/playlists")
    card = lists.find_own_list(index, "playlist", playlist_id, who.did)
    held = lists.playlist_tracks(index, card, who.viewer)
    found = await content.load_tracks(supporters, held, who.viewer)
    uri = str(lists.list_uri(card))
    playlist = Playlist.model_validate_json(card.card).model_copy(
        update={"show_on_profile": await showing.of(uri) is not False}
    )
    view = library_views.of_playlist(playlist, found, renderer.addresses)
    return responses.public_page(renderer, "playlist_edit.html", view, who)


@routes.deed("/playlists", requires=("list",), raises=(InvalidRequest, *REFUSALS))
async def create_playlist(
    sent: PlaylistForm, who: InSession, showing: ProfileVisibility, writing: Writing
) -> Answer[str]:
    """Create an empty playlist."""
    wanted = sent.wanted()
    uri, _ = await playlists.create_playlist(writing, showing, who, wanted.name, wanted.show_on_profile)
    return responses.redirect_away(f"/playlists/{list_id(str(uri))}")


@routes.deed("/playlists/{playlist_id}", requires=("list",), raises=CHANGES)
async def save_playlist(
    playlist_id: ListName,
    sent: PlaylistForm,
    who: InSession,
    index: Index,
    showing: ProfileVisibility,
    writing: Writing,
) -> Answer[str]:
    """Rename a playlist, and choose whether the profile shows it."""
    wanted = sent.wanted()
    uri = lists.list_uri(lists.find_own_list(index, "playlist", playlist_id, who.did))
    answer = await _changed(
        playlist_id, lambda found: authoring.rename_list(found, wanted.name, None), who, index, writing
    )
    await showing.choose(str(uri), wanted.show_on_profile)
    return answer


@routes.deed("/playlists/{playlist_id}/order", requires=("list",), raises=CHANGES)
async def move_in_playlist(
    playlist_id: ListName, sent: PlaceForm, who: InSession, index: Index, writing: Writing
) -> Answer[str]:
    """Move a track of a playlist to right before another."""
    return await _changed(
        playlist_id, lambda found: authoring.move_item(found, sent.track, sent.before), who, index, writing
    )


@routes.deed("/playlists/{playlist_id}/remove", requires=("list",), raises=CHANGES)
async def remove_from_playlist(
    playlist_id: ListName, sent: PlaceForm, who: InSession, index: Index, writing: Writing
) -> Answer[str]:
    """Remove a track from a playlist."""
    return await _changed(
        playlist_id, lambda found: authoring.remove_track(found, sent.track), who, index, writing
    )


@routes.deed("/playlists/{playlist_id}/delete", requires=("list",), raises=CHANGES)
async def drop_playlist(
    playlist_id: ListName, who: InSession, index: Index, showing: ProfileVisibility, writing: Writing
) -> Answer[str]:
    """Delete a playlist. Its tracks stay."""
    uri = lists.list_uri(lists.find_own_list(index, "playlist", playlist_id, who.did))
    await playlists.delete_playlist(writing, showing, who, uri)
    return responses.redirect_away("/playlists")


async def _changed(
    playlist_id: str, change: Change, who: InSession, index: Index, writing: Writing
) -> Answer[str]:
    """Change one of the account's playlists, and show it again."""
    uri = lists.list_uri(lists.find_own_list(index, "playlist", playlist_id, who.did))
    await writing.edit(who, uri.collection, uri.rkey, change)
    return responses.redirect_away(f"/playlists/{list_id(str(uri))}")
