"""The settings page of the signed-in account: linked accounts, permissions and developer tokens."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from readapi.answers import Answer
from readapi.errors import Conflict, InvalidRequest, NotAuthenticated, NotFound
from readapi.http.request.cookies import Cookies
from readapi.http.request.headers import Accept, prefers_page
from readapi.http.request.validation import fit_members
from readapi.http.viewer import InSession, SignedIn
from readapi.oauth.errors import OAuthError
from readapi.pages import notices, responses
from readapi.pages.notices import Notice
from readapi.pages.page_routes import PageRoutes
from readapi.pages.portal import account_views
from readapi.pages.portal.account_views import FRESH, SignInAttempt
from readapi.pages.portal.permissions import Permissions
from readapi.pages.render import Renderer
from readapi.pds import oauth_errors
from readapi.pds.sessions import OwnSessions
from readapi.pds.signing_in import PAGE, SignIn
from readapi.state.publishing.preferences import Preferences
from readapi.state.sign_in.authorization_requests import AuthorizationPurpose
from readapi.state.state import State
from readapi.webhooks.own import OwnWebhooks
from schemas.api.auth import AddAccount, WantedToken
from schemas.api.shape import Asked
from schemas.api.webhooks import Url, WantedWebhook
from schemas.collections import SCROBBLING
from schemas.settings import Settings

routes = PageRoutes()

_KINDS = {
    "track": "tracks",
    "list": "albums and playlists",
    "like": "likes",
    "comment": "comments",
    "profile": "profiles",
}


class WebhookForm(Asked):
    """The form of a new webhook. Names of artists and tags are separated by commas or spaces."""

    url: Url
    token_id: Annotated[str, Field(max_length=64)]
    wanted_collections: Annotated[list[str], Field(default_factory=list, max_length=5)]
    artists: Annotated[str, Field(max_length=2000)] = ""
    tags: Annotated[str, Field(max_length=2000)] = ""
    cards: bool = False


@routes.page("/settings", even_ended=True)
async def settings_page(
    who: InSession | None,
    state: State,
    settings: Settings,
    renderer: Renderer,
    webhooks: OwnWebhooks,
    note: str | None = None,
) -> Answer[str]:
    """Show the account's linked accounts, permissions and developer tokens, or the sign-in page."""
    if who is None:
        return responses.sign_in("settings", note)
    view = await _view(who, state, settings, webhooks, notices.find_notice(note, who.name))
    return responses.account_page(renderer, "settings.html", view, account=who.name)


@routes.deed("/settings/sign-out", raises=(NotAuthenticated,), even_ended=True)
async def sign_out(who: SignedIn | None, belongings: OwnSessions, cookies: Cookies) -> Answer[str]:
    """Sign out all accounts of the session. Without a session this does nothing."""
    await belongings.sign_out(who)
    return responses.redirect_with_notice("/login", "signed-out", cookies.no_session())


@routes.deed("/settings/accounts", raises=oauth_errors.TO_START, even_ended=True)
async def leave_to_add_account(
    sent: AddAccount,
    who: InSession,
    accept: Accept,
    state: State,
    settings: Settings,
    signing_in: SignIn,
    renderer: Renderer,
    webhooks: OwnWebhooks,
) -> Answer[str]:
    """Lead to the server of another account, to link it."""
    try:
        page = await signing_in.add_account(who, sent.handle, **{PAGE: notices.return_url("account-added")})
    except OAuthError as error:
        refusal = oauth_errors.start_refusal(error)
        if not prefers_page(accept.header):
            raise refusal from error
        view = await _view(who, state, settings, webhooks, attempt=SignInAttempt(sent.handle, error.sentence))
        return responses.account_page(
            renderer, "settings.html", view, account=who.name, status=refusal.status
        )
    return responses.lead_away(renderer, page)


@routes.deed("/settings/accounts/{did}/use", raises=(NotFound,), even_ended=True)
async def use_account(did: str, who: InSession, belongings: OwnSessions) -> Answer[str]:
    """Make another linked account the active one."""
    await belongings.switch(who, did)
    return responses.redirect_with_notice("/settings", "account-switched")


@routes.deed("/settings/accounts/{did}/remove", raises=(NotFound,), even_ended=True)
async def remove_account(did: str, who: InSession, belongings: OwnSessions, cookies: Cookies) -> Answer[str]:
    """Unlink an account from the session. Unlinking the last one ends the session."""
    if await belongings.drop(who, did):
        return responses.redirect_with_notice("/settings", "account-removed")
    return responses.redirect_with_notice("/login", "signed-out", cookies.no_session())


@routes.deed("/settings/permissions", even_ended=True)
async def leave_for_permissions(who: InSession, signing_in: SignIn, renderer: Renderer) -> Answer[str]:
    """Lead to the account's server to request the scopes not granted yet."""
    return await _away(renderer, signing_in.upgrade(who, (), **_PERMISSIONS_CHANGED))


@routes.deed("/settings/scrobbling/on")
async def turn_scrobbling_on(
    who: InSession, state: State, signing_in: SignIn, renderer: Renderer
) -> Answer[str]:
    """Lead to the account's server to request the scope for scrobbling."""
    await _prefer(
        who, state, lambda chosen: replace(chosen, scrobbling=True)
    )  # which has no effect until the scope is granted
    return await _away(renderer, signing_in.upgrade(who, (SCROBBLING,), **_PERMISSIONS_CHANGED))


@routes.deed("/settings/scrobbling/off")
async def turn_scrobbling_off(
    who: InSession, state: State, signing_in: SignIn, renderer: Renderer
) -> Answer[str]:
    """Lead to the account's server to authorize without scrobbling: no scope can be revoked singly."""
    await _prefer(who, state, lambda chosen: replace(chosen, scrobbling=False))
    await state.playing_now.end(who.did)
    purpose = AuthorizationPurpose("scope_upgrade", who.key.hex(), _PERMISSIONS_CHANGED)
    return await _away(renderer, signing_in.begin(who.did, purpose))


@routes.deed("/settings/adult/on")
async def show_adult(who: InSession, state: State) -> Answer[str]:
    """Let this service's pages show the account what labels say is for adults."""
    await _prefer(who, state, lambda chosen: replace(chosen, show_adult=True))
    return responses.redirect_with_notice("/settings", "adult-shown")


@routes.deed("/settings/adult/off")
async def hide_adult(who: InSession, state: State) -> Answer[str]:
    """Leave what labels say is for adults out of the pages' lists again."""
    await _prefer(who, state, lambda chosen: replace(chosen, show_adult=False))
    return responses.redirect_with_notice("/settings", "adult-hidden")


@routes.deed("/settings/tokens")
async def leave_for_token(
    sent: WantedToken, who: InSession, signing_in: SignIn, renderer: Renderer
) -> Answer[str]:
    """Lead to the account's server to authorize a new developer token."""
    return await _away(
        renderer, signing_in.make_token(who, sent.name, sent.expires_in_days, **{PAGE: notices.RETURN})
    )


@routes.deed("/settings/tokens/{token_id}/revoke", raises=(NotFound,))
async def revoke_token(token_id: str, who: InSession, belongings: OwnSessions) -> Answer[str]:
    """Revoke a developer token, here and at the account's server."""
    await belongings.revoke_token(who, token_id)
    return responses.redirect_with_notice("/settings", "token-revoked")


@routes.deed("/settings/webhooks", raises=(InvalidRequest, NotFound, Conflict))
async def create_own_webhook(
    sent: WebhookForm, who: InSession, webhooks: OwnWebhooks, renderer: Renderer
) -> Answer[str]:
    """Create a webhook, and show its secret, once."""
    names = {"artists": _words(sent.artists), "tags": _words(sent.tags)}
    wanted = fit_members(WantedWebhook, sent.model_dump() | names)
    created = await webhooks.create(who, wanted)
    view = account_views.of_webhook_secret(created.webhook.url, created.secret)
    return responses.account_page(renderer, "webhook.html", view, account=who.name)


@routes.deed("/settings/webhooks/{webhook_id}/rotate", raises=(NotFound,))
async def rotate_own_webhook_secret(
    webhook_id: str, who: InSession, webhooks: OwnWebhooks, renderer: Renderer
) -> Answer[str]:
    """Replace the secret of a webhook, and show the new one, once."""
    secret, until = await webhooks.rotate(who, webhook_id)
    view = account_views.of_webhook_secret("", secret, until)
    return responses.account_page(renderer, "webhook.html", view, account=who.name)


@routes.deed("/settings/webhooks/{webhook_id}/resume", raises=(NotFound,))
async def resume_own_webhook(webhook_id: str, who: InSession, webhooks: OwnWebhooks) -> Answer[str]:
    """Resume a webhook from where it was."""
    await webhooks.resume(who, webhook_id)
    return responses.redirect_with_notice("/settings", "webhook-resumed")


@routes.deed("/settings/webhooks/{webhook_id}/delete", raises=(NotFound,))
async def delete_own_webhook(webhook_id: str, who: InSession, webhooks: OwnWebhooks) -> Answer[str]:
    """Delete a webhook."""
    await webhooks.remove(who, webhook_id)
    return responses.redirect_with_notice("/settings", "webhook-deleted")


async def _prefer(who: InSession, state: State, change: Callable[[Preferences], Preferences]) -> None:
    await state.preferences.put(who.did, change(await state.preferences.of(who.did)))


def _words(text: str) -> tuple[str, ...]:
    """The names in a field, which commas and spaces separate."""
    return tuple(text.replace(",", " ").split())


_PERMISSIONS_CHANGED = {PAGE: notices.return_url("permissions-changed")}


async def _away(renderer: Renderer, leaving: Awaitable[str]) -> Answer[str]:
    """Lead to the account's authorization server, or to the settings with the error."""
    try:
        return responses.lead_away(renderer, await leaving)
    except OAuthError as error:
        return responses.redirect_with_notice("/settings", error.kind)


async def _view(
    who: InSession,
    state: State,
    settings: Settings,
    webhooks: OwnWebhooks,
    note: Notice | None = None,
    attempt: SignInAttempt = FRESH,
) -> account_views.View:
    accounts = await state.accounts.of(who.key)
    tokens = await state.developer_tokens.of(who.did)
    permissions = Permissions.of(who.scopes, settings.collections)
    told: dict[str, str] = {settings.collections.of(kind): name for kind, name in _KINDS.items()}
    own = (await webhooks.list_own(who)).webhooks
    chosen = await state.preferences.of(who.did)
    return account_views.of_settings(
        who.account, accounts, permissions, chosen, tokens, told, own, note, attempt
    )
