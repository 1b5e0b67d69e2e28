"""The settings page of the signed-in account: linked accounts, permissions, tokens and webhooks."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from readapi.answers import Answer
from readapi.errors import ApiError, Conflict, InvalidRequest, NotAuthenticated, NotFound
from readapi.http.request.cookies import Cookies
from readapi.http.request.headers import Accept, prefers_page
from readapi.http.viewer import InSession, SignedIn
from readapi.oauth.errors import OAuthError
from readapi.pages import notices, responses
from readapi.pages.form_errors import FormErrors, form_errors
from readapi.pages.page_routes import PageRoutes
from readapi.pages.portal import account_views
from readapi.pages.portal.settings_forms import AccountForm, TokenForm, WebhookForm
from readapi.pages.portal.settings_page import SettingsPage
from readapi.pages.render import Renderer
from readapi.pds import oauth_errors
from readapi.pds.sessions import OwnSessions
from readapi.pds.signing_in import PAGE, SignIn
from readapi.state.publishing.preferences import Preferences
from readapi.state.sign_in.authorization_requests import AuthorizationPurpose
from readapi.state.state import State
from readapi.webhooks.own import OwnWebhooks
from schemas.collections import SCROBBLING

routes = PageRoutes()


@routes.page("/settings", even_ended=True)
async def settings_page(who: InSession | None, page: SettingsPage, note: str | None = None) -> Answer[str]:
    """Show the account's linked accounts, permissions and developer tokens, or the sign-in page."""
    if who is None:
        return responses.sign_in("settings", note)
    return await page.show(who, note=notices.find_notice(note, who.name))


@routes.deed("/settings/sign-out", raises=(NotAuthenticated,), even_ended=True)
async def sign_out(who: SignedIn | None, belongings: OwnSessions, cookies: Cookies) -> Answer[str]:
    """Sign out all accounts of the session. Without a session this does nothing."""
    await belongings.sign_out(who)
    return responses.redirect_with_notice("/login", "signed-out", cookies.no_session())


@routes.deed("/settings/accounts", raises=oauth_errors.TO_START, even_ended=True)
async def leave_to_add_account(
    sent: AccountForm,
    who: InSession,
    accept: Accept,
    signing_in: SignIn,
    renderer: Renderer,
    page: SettingsPage,
) -> Answer[str]:
    """Lead to the server of another account, to link it."""
    try:
        address = await signing_in.add_account(
            who, sent.wanted().handle, **{PAGE: notices.return_url("account-added")}
        )
    except InvalidRequest as error:
        return await page.show(who, form_errors("account", sent, error, accept))
    except OAuthError as error:
        refusal = oauth_errors.start_refusal(error)
        if not prefers_page(accept.header):
            raise refusal from error
        errors = {"handle": error.sentence}
        attempt = FormErrors("account", {"handle": sent.handle}, errors, status=refusal.status)
        return await page.show(who, attempt)
    return responses.lead_away(renderer, address)


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


@routes.deed("/settings/playing/on")
async def show_playing(who: InSession, state: State) -> Answer[str]:
    """Let others see what the account is listening to."""
    await _prefer(who, state, lambda chosen: replace(chosen, show_playing=True))
    return responses.redirect_with_notice("/settings", "playing-shown")


@routes.deed("/settings/playing/off")
async def hide_playing(who: InSession, state: State) -> Answer[str]:
    """Stop showing what the account is listening to, as of now."""
    await _prefer(who, state, lambda chosen: replace(chosen, show_playing=False))
    await state.playing_now.end(who.did)
    return responses.redirect_with_notice("/settings", "playing-hidden")


@routes.deed("/settings/tokens", raises=oauth_errors.TO_START)
async def leave_for_token(
    sent: TokenForm,
    who: InSession,
    accept: Accept,
    signing_in: SignIn,
    renderer: Renderer,
    page: SettingsPage,
) -> Answer[str]:
    """Lead to the account's server to authorize a new developer token. A refused form is shown again."""
    try:
        wanted = sent.wanted()
    except InvalidRequest as error:
        return await page.show(who, form_errors("token", sent, error, accept))
    making = signing_in.make_token(who, wanted.name, wanted.expires_in_days, **{PAGE: notices.RETURN})
    try:
        return responses.lead_away(renderer, await making)
    except OAuthError as error:
        refusal = oauth_errors.start_refusal(error)
        return await page.show(who, form_errors("token", sent, refusal, accept))


@routes.deed("/settings/tokens/{token_id}/revoke", raises=(NotFound,))
async def revoke_token(token_id: str, who: InSession, belongings: OwnSessions) -> Answer[str]:
    """Revoke a developer token, here and at the account's server."""
    await belongings.revoke_token(who, token_id)
    return responses.redirect_with_notice("/settings", "token-revoked")


@routes.deed("/settings/webhooks", raises=(InvalidRequest, NotFound, Conflict))
async def create_own_webhook(
    sent: WebhookForm,
    who: InSession,
    accept: Accept,
    webhooks: OwnWebhooks,
    renderer: Renderer,
    page: SettingsPage,
) -> Answer[str]:
    """Create a webhook, and show its secret, once. A refused form is shown again."""
    try:
        created = await webhooks.create(who, sent.wanted())
    except ApiError as error:
        at = "artists" if isinstance(error, NotFound) else None
        return await page.show(who, form_errors("webhook", sent, error, accept, at))
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
    await state.preferences.change(who.did, change)


_PERMISSIONS_CHANGED = {PAGE: notices.return_url("permissions-changed")}


async def _away(renderer: Renderer, leaving: Awaitable[str]) -> Answer[str]:
    """Lead to the account's authorization server, or to the settings with the error."""
    try:
        return responses.lead_away(renderer, await leaving)
    except OAuthError as error:
        return responses.redirect_with_notice("/settings", error.kind)
