"""Builds the settings page of an account, with the reason where one of its forms was refused."""

from readapi.answers import Answer
from readapi.http.viewer import InSession
from readapi.pages import responses
from readapi.pages.form_errors import FRESH, FormErrors
from readapi.pages.notices import Notice
from readapi.pages.portal import account_views
from readapi.pages.portal.permissions import Permissions
from readapi.pages.render import Renderer
from readapi.state.state import State
from readapi.webhooks.own import OwnWebhooks
from schemas.collections import Collections

_KINDS = {
    "track": "tracks",
    "list": "albums and playlists",
    "like": "likes",
    "comment": "comments",
    "profile": "profiles",
}


class SettingsPage:
    """Shows an account what it linked, granted and chose, its developer tokens and its webhooks."""

    def __init__(
        self, renderer: Renderer, state: State, webhooks: OwnWebhooks, collections: Collections
    ) -> None:
        self._renderer = renderer
        self._state = state
        self._webhooks = webhooks
        self._collections = collections
        self._kinds: dict[str, str] = {collections.of(kind): name for kind, name in _KINDS.items()}

    async def show(
        self, who: InSession, attempt: FormErrors = FRESH, note: Notice | None = None
    ) -> Answer[str]:
        """The page; a refused form is shown as it was typed, with its errors."""
        view = account_views.of_settings(
            who.account,
            await self._state.accounts.of(who.key),
            Permissions.of(who.scopes, self._collections),
            await self._state.preferences.of(who.did),
            await self._state.developer_tokens.of(who.did),
            self._kinds,
            (await self._webhooks.list_own(who)).webhooks,
            note,
            attempt,
        )
        return responses.account_page(
            self._renderer, "settings.html", view, account=who.name, status=attempt.status
        )
