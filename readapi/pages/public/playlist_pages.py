"""The pages of an account's playlists, and what their forms do; a refused form is shown with the reason."""

from http import HTTPStatus

from readapi.answers import Answer
from readapi.errors import ApiError
from readapi.http.request.headers import Accept
from readapi.http.request.page_forms import PageForm
from readapi.http.supporters import Supporters
from readapi.http.viewer import InSession
from readapi.index import cursors
from readapi.index.lookups import Index
from readapi.index.queries import lists, recommendations
from readapi.pages import responses
from readapi.pages.form_errors import FRESH, FormErrors, form_errors
from readapi.pages.notices import Notice
from readapi.pages.public import content, library_views
from readapi.pages.public.content import MOST_LISTS
from readapi.pages.public.forms import PlaylistForm
from readapi.pages.render import Renderer
from readapi.pds.records import lists as authoring
from readapi.pds.records import playlists
from readapi.pds.writing import Change, Writing
from readapi.state.publishing.profile_visibility import ProfileVisibility
from schemas.api.playlists import Playlist
from schemas.ids import AtUri, list_id

_ORDER = "page of playlists"
_MOST_RECOMMENDED = 5


class PlaylistPages:
    """Shows only the playlists of the signed-in account; anything else is not found."""

    def __init__(
        self,
        renderer: Renderer,
        index: Index,
        supporters: Supporters,
        showing: ProfileVisibility,
        writing: Writing,
    ) -> None:
        self._renderer = renderer
        self._index = index
        self._supporters = supporters
        self._showing = showing
        self._writing = writing

    async def all(
        self,
        who: InSession,
        attempt: FormErrors = FRESH,
        note: Notice | None = None,
        cursor: str | None = None,
    ) -> Answer[str]:
        """The account's playlists, and the form for a new one."""
        after = cursors.read_position(cursor, _ORDER)
        page = await lists.playlists_of(self._index, self._showing, who.did, who.viewer, after, MOST_LISTS)
        found = [Playlist.model_validate(one) for one in page.items]
        following = cursors.write_cursor(page.after, _ORDER)
        view = library_views.of_playlists(found, following, self._renderer.addresses)
        return self._page(who, "playlists.html", view, attempt, note)

    async def one(
        self, who: InSession, playlist_id: str, attempt: FormErrors = FRESH, note: Notice | None = None
    ) -> Answer[str]:
        """A playlist with what can be changed about it, and tracks that fit it. Raises NotFound, NotOwner."""
        card = lists.find_own_list(self._index, "playlist", playlist_id, who.did)
        held = lists.playlist_tracks(self._index, card, who.viewer)
        found = await content.load_tracks(self._supporters, held, who.viewer)
        fitting = (
            recommendations.recommend_tracks(self._index, held, who.viewer, _MOST_RECOMMENDED) if held else []
        )
        others = await content.load_tracks(self._supporters, fitting, who.viewer)
        shown = await self._showing.of(str(lists.list_uri(card))) is not False
        playlist = Playlist.model_validate_json(card.card).model_copy(update={"show_on_profile": shown})
        view = library_views.of_playlist(playlist, found, others, self._renderer.addresses)
        return self._page(who, "playlist_edit.html", view, attempt, note)

    async def create(self, who: InSession, sent: PlaylistForm, accept: Accept) -> Answer[str]:
        """Create an empty playlist, and show it."""
        try:
            wanted = sent.wanted()
            uri, _ = await playlists.create_playlist(
                self._writing, self._showing, who, wanted.name, wanted.show_on_profile
            )
        except ApiError as error:
            return await self.all(who, form_errors("playlist", sent, error, accept, at="name"))
        return _shown(uri)

    async def save(self, who: InSession, playlist_id: str, sent: PlaylistForm, accept: Accept) -> Answer[str]:
        """Rename a playlist, and choose whether the profile shows it."""
        try:
            wanted = sent.wanted()
        except ApiError as error:
            tried = form_errors("playlist", sent, error, accept, at="name")
            return await self.one(who, playlist_id, tried)
        changed = await self.change(
            who, playlist_id, sent, accept, lambda found: authoring.rename_list(found, wanted.name, None)
        )
        if changed.status < HTTPStatus.BAD_REQUEST:
            await self._showing.choose(str(self._own(who, playlist_id)), wanted.show_on_profile)
        return changed

    async def change(
        self, who: InSession, playlist_id: str, sent: PageForm, accept: Accept, change: Change
    ) -> Answer[str]:
        """Change one of the account's playlists, and show it."""
        uri = self._own(who, playlist_id)
        try:
            await self._writing.edit(who, uri.collection, uri.rkey, change)
        except ApiError as error:
            return await self.one(who, playlist_id, form_errors("playlist", sent, error, accept))
        return _shown(uri)

    async def delete(self, who: InSession, playlist_id: str, accept: Accept) -> Answer[str]:
        """Delete a playlist, and show the others."""
        uri = self._own(who, playlist_id)
        try:
            await playlists.delete_playlist(self._writing, self._showing, who, uri)
        except ApiError as error:
            return await self.one(who, playlist_id, form_errors("deletion", PageForm(), error, accept))
        return responses.redirect_away("/playlists")

    def _own(self, who: InSession, playlist_id: str) -> AtUri:
        return lists.list_uri(lists.find_own_list(self._index, "playlist", playlist_id, who.did))

    def _page(
        self,
        who: InSession,
        template: str,
        view: dict[str, object],
        attempt: FormErrors,
        note: Notice | None,
    ) -> Answer[str]:
        return responses.form_page(self._renderer, template, view, who, attempt, note)


def _shown(uri: AtUri) -> Answer[str]:
    return responses.redirect_away(f"/playlists/{list_id(str(uri))}")
