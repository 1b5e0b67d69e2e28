"""Sign-in and sign-out, the accounts of a session, and developer tokens."""

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from yarl import URL

from readapi.answers import HTML, JSON, Answer, render_json
from readapi.errors import (
    InvalidRequest,
    NotAuthenticated,
    NotFound,
    PdsDown,
    PdsRefused,
    SessionExpired,
)
from readapi.http.endpoint import Options, Routes
from readapi.http.request import validation
from readapi.http.request.cookies import Browser, Cookies
from readapi.http.request.headers import BY_ACCEPT, Accept, prefers_page
from readapi.http.viewer import InSession, SignedIn
from readapi.index.lookups import Index
from readapi.index.queries import artists
from readapi.oauth.errors import Unavailable
from readapi.pages import notices, responses
from readapi.pages.portal import account_views
from readapi.pages.render import Renderer
from readapi.pages.sign_in_start import SignInStart
from readapi.pds import oauth_errors
from readapi.pds.grants import Ended, Grants
from readapi.pds.native_clients import NativeClient, UnusableParameter
from readapi.pds.sessions import OwnSessions
from readapi.pds.signing_in import PAGE, NoSuchExchange, Return, SignIn, TokenMade, UnknownScope
from readapi.state.state import State
from schemas import datetimes
from schemas.api import auth as shapes
from schemas.errors import FieldError
from schemas.settings import Settings

routes = Routes("signing in")

NONE: Mapping[str, str] = MappingProxyType({})


_START: Options = {
    "raises": oauth_errors.TO_START,
    "redirects": HTTPStatus.FOUND,
    "media_types": (JSON, HTML),
}


@routes.post("/auth/start", **_START)
async def start(
    starts: SignInStart,
    accept: Accept,
    browser: Browser,
    renderer: Renderer,
    handle: shapes.Name | None = None,
    did: shapes.Name | None = None,
    redirect_uri: shapes.Parameter | None = None,
    state: shapes.Parameter | None = None,
    code_challenge: shapes.Parameter | None = None,
    code_challenge_method: shapes.Parameter | None = None,
) -> Answer[shapes.ToVisit]:
    """Start a sign-in: redirect the account, given as a handle or DID, to its own server.

    A sign-in that a web page starts can be completed only in the same browser: this answer sets a cookie,
    which the exchange requires. Scripts of the web application must send this request with `credentials:
    "include"`.

    A program on the person's machine (RFC 8252) sends a `code_challenge` with `code_challenge_method=S256`,
    and the exchange then asks for its verifier. `redirect_uri` is where the program listens,
    `http://127.0.0.1:PORT/…` or `http://[::1]:PORT/…` at any port: the browser comes back there with `code`,
    which is the exchange token, or `error`, and with the `state` that was sent. Without a `redirect_uri` a
    page shows the code, to be pasted.
    """
    try:
        native = NativeClient.check(redirect_uri, state, code_challenge, code_challenge_method)
    except UnusableParameter as error:
        named = FieldError(field=error.field, message=str(error))
        raise InvalidRequest(str(error), errors=[named]) from None
    if native is not None and browser.is_one:
        raise InvalidRequest("A code challenge is for programs; a browser's page begins without one.")
    # The form of our own page, whose CSP allows no form to be redirected to another server.
    page = renderer if browser.origin == renderer.addresses.base_url else None
    return await _leave(starts, accept, browser, _named(handle, did), by_form=True, native=native, page=page)


@routes.get("/auth/start", **(_START | {"acts": True}))
async def start_by_link(
    starts: SignInStart,
    accept: Accept,
    browser: Browser,
    renderer: Renderer,
    handle: shapes.Name | None = None,
    did: shapes.Name | None = None,
) -> Answer[shapes.ToVisit]:
    """Start a sign-in from a link. A browser gets a page that asks for confirmation first."""
    name = _named(handle, did)
    # Pages of this service show links from records too, so a link's own page proves nothing.
    if not starts.is_by_page(browser) and prefers_page(accept.header):
        view = account_views.of_start(name, "did" if handle is None else "handle")
        asking: Answer[Any] = responses.account_page(renderer, "start.html", view)
        return asking
    return await _leave(starts, accept, browser, name)


@routes.get(
    "/auth/callback",
    raises=(InvalidRequest, NotAuthenticated, PdsDown, PdsRefused),
    redirects=HTTPStatus.SEE_OTHER,
    acts=True,
)
async def callback(
    signing_in: SignIn,
    settings: Settings,
    accept: Accept,
    state: str = "",
    iss: str = "",
    code: str | None = None,
    error: str | None = None,
    error_description: str | None = None,
) -> Answer[shapes.ExchangeToken]:
    """Receive the redirect from the account's server; redirect on with an exchange token or an error."""
    given = {"state": state, "iss": iss, "code": code, "error": error, "error_description": error_description}
    back = await signing_in.finish({name: text for name, text in given.items() if text is not None})
    onward = None if _wants_json(accept) else _onward(back, settings)
    if onward is not None:
        return _redirect(onward, HTTPStatus.SEE_OTHER)
    if prefers_page(accept.header):
        return _redirect(_our_own(back), HTTPStatus.SEE_OTHER)
    if back.error is not None:
        raise oauth_errors.callback_refusal(back.error)
    return _made_anew(shapes.ExchangeToken(exchange_token=back.exchange_token or ""))


@routes.post("/auth/exchange", raises=(NotAuthenticated,), even_ended=True)
async def exchange(
    sent: shapes.Exchange, signing_in: SignIn, cookies: Cookies, browser: Browser, who: SignedIn | None
) -> Answer[shapes.NewSession | shapes.NewDeveloperToken]:
    """Exchange an exchange token for a session or a developer token.

    The answer contains the session id or the token. A browser also gets the session as a cookie if it started
    the sign-in itself; otherwise it is refused. To upgrade scopes, add an account or create a developer
    token, send the credential of the session that started it; that session stays the same. Signing in again
    as the same account ends the session sent along, unless that session holds another account or several.
    """
    try:
        made = await (
            signing_in.exchange(sent.exchange_token, who, cookies.proof(browser))
            if browser.is_one
            else signing_in.exchange_by_program(sent.exchange_token, who, sent.code_verifier)
        )
    except NoSuchExchange as error:
        raise NotAuthenticated(str(error)) from None
    if isinstance(made, TokenMade):
        expires_at = datetimes.render(made.expires_at)
        return Answer(
            render_json(shapes.NewDeveloperToken(token=made.token, name=made.name, expires_at=expires_at))
        )
    account = made.account
    begun = shapes.NewSession(session_id=made.session_id, did=account.did, handle=account.handle)
    kept = cookies.session(made.session_id) if browser.is_one and made.is_new else {}
    return Answer(render_json(begun), headers=kept)


@routes.get("/auth/me", raises=(NotAuthenticated, SessionExpired))
async def me(who: SignedIn, state: State, grants: Grants, index: Index) -> shapes.Me:
    """Get the signed-in account, its granted scopes, and the accounts linked in the session."""
    try:
        await grants.fresh(who.grant_id)
    except Ended as error:
        raise SessionExpired(str(error)) from None
    except Unavailable:
        pass  # granted scopes stay valid until they are revoked
    linked = await state.accounts.of(who.key) if isinstance(who, InSession) else []
    return shapes.Me(
        did=who.did,
        handle=who.handle,
        display_name=artists.display_name(index, who.did),
        scopes=sorted(who.scopes),
        linked_accounts=[
            shapes.LinkedAccount(did=one.did, handle=one.handle, active=one.active) for one in linked
        ],
    )


@routes.post("/auth/logout", raises=(NotAuthenticated,), even_ended=True)
async def logout(who: SignedIn | None, belongings: OwnSessions, cookies: Cookies) -> Answer[None]:
    """Sign out all accounts of the session, and revoke their grants at their servers.

    Without a session this succeeds and does nothing.
    """
    await belongings.sign_out(who)
    return Answer(b"", status=HTTPStatus.NO_CONTENT, headers=cookies.no_session())


@routes.post("/auth/scope-upgrade/start", raises=oauth_errors.TO_START, even_ended=True)
async def start_scope_upgrade(
    sent: shapes.ScopeUpgrade, who: InSession, signing_in: SignIn
) -> shapes.ToVisit:
    """Start an authorization for more scopes, or renew the current ones.

    Only scopes that are named here are requested in addition to those of every sign-in.
    """
    try:
        with oauth_errors.translate_start():
            return shapes.ToVisit(auth_url=await signing_in.upgrade(who, sent.scopes))
    except UnknownScope as error:
        raise InvalidRequest.of_field("scopes", str(error)) from None


@routes.post("/auth/add-account/start", raises=oauth_errors.TO_START, even_ended=True)
async def start_add_account(sent: shapes.AddAccount, who: InSession, signing_in: SignIn) -> shapes.ToVisit:
    """Start linking another account to the session."""
    with oauth_errors.translate_start():
        return shapes.ToVisit(auth_url=await signing_in.add_account(who, sent.handle))


@routes.post("/auth/switch-account", raises=(NotFound,), even_ended=True)
async def switch_account(
    sent: shapes.SwitchAccount, who: InSession, belongings: OwnSessions
) -> shapes.Switched:
    """Make another linked account the active one."""
    active = await belongings.switch(who, sent.target_did)
    return shapes.Switched(did=active.did, handle=active.handle, session_id=who.session_id)


@routes.delete("/auth/accounts/{did}", raises=(NotFound,), even_ended=True)
async def drop_account(did: str, who: InSession, belongings: OwnSessions, cookies: Cookies) -> Answer[None]:
    """Unlink an account from the session. Unlinking the last one ends the session."""
    remains = await belongings.drop(who, did)
    return Answer(b"", status=HTTPStatus.NO_CONTENT, headers={} if remains else cookies.no_session())


@routes.post("/auth/developer-token/start", raises=oauth_errors.TO_START)
async def start_developer_token(
    sent: shapes.WantedToken, who: InSession, signing_in: SignIn
) -> shapes.ToVisit:
    """Start creating a developer token, which gets its own grant. The exchange returns it, once."""
    with oauth_errors.translate_start():
        return shapes.ToVisit(auth_url=await signing_in.make_token(who, sent.name, sent.expires_in_days))


@routes.get("/auth/developer-tokens")
async def list_developer_tokens(who: SignedIn, state: State) -> shapes.DeveloperTokens:
    """List your developer tokens, newest first, including those no longer valid."""
    tokens = await state.developer_tokens.of(who.did)
    return shapes.DeveloperTokens(
        tokens=[
            shapes.DeveloperToken(
                id=token.id,
                name=token.name,
                prefix=token.prefix,
                created_at=datetimes.render(token.created_at),
                last_used_at=None if token.last_used_at is None else datetimes.render(token.last_used_at),
                expires_at=datetimes.render(token.expires_at),
                ended_because=token.ended_because,
            )
            for token in tokens
        ]
    )


@routes.delete("/auth/developer-tokens/{token_id}", raises=(NotFound,))
async def revoke_developer_token(token_id: str, who: InSession, belongings: OwnSessions) -> None:
    """Revoke one of your developer tokens, here and at your server."""
    await belongings.revoke_token(who, token_id)


def _named(handle: str | None, did: str | None) -> str:
    if (name := handle or did) is None:
        raise InvalidRequest.of_field("handle", validation.REQUIRED)
    return name


async def _leave(
    starts: SignInStart,
    accept: Accept,
    browser: Browser,
    name: str,
    *,
    by_form: bool = False,
    native: NativeClient | None = None,
    page: Renderer | None = None,
) -> Answer[shapes.ToVisit]:
    """Lead to the account's server: by a redirect, or by a `page` that goes on by itself."""
    with oauth_errors.translate_start():
        address, headers = await starts.begin(name, browser, by_form=by_form, native=native)
    if _wants_json(accept):
        return _made_anew(shapes.ToVisit(auth_url=address), headers)
    if page is not None:
        onward: Answer[Any] = responses.lead_away(page, address, headers)
        return onward
    return _redirect(address, HTTPStatus.FOUND, headers)


def _onward(back: Return, settings: Settings) -> str | None:
    """Where to redirect after the callback: the program's listener, the page where the sign-in began, or the
    web application.
    """
    native = None if back.purpose is None else NativeClient.read(back.purpose.details)
    if native is not None:
        if back.error is None:
            return native.return_address(code=back.exchange_token or "")
        return native.return_address(error=back.error.kind, error_description=back.error.sentence)
    page = None if back.purpose is None else back.purpose.details.get(PAGE)
    place = settings.web_url if page is None else f"{settings.base_url}{page}"
    if place is None:
        return None
    if back.error is not None:
        return str(URL(place).update_query(error=back.error.kind, error_description=back.error.sentence))
    return str(URL(place).update_query(exchange_token=back.exchange_token or ""))


def _our_own(back: Return) -> str:
    """The page of this service for a sign-in that belongs to no web application."""
    if back.error is not None:
        return f"{notices.RETURN}?error={back.error.kind}"
    return f"{notices.ARRIVED}?exchange_token={back.exchange_token}"


def _redirect(address: str, status: HTTPStatus, headers: Mapping[str, str] = NONE) -> Answer[Any]:
    return Answer(b"", status=status, headers={"Location": address, **BY_ACCEPT, **headers})


def _made_anew(
    shape: shapes.ToVisit | shapes.ExchangeToken, headers: Mapping[str, str] = NONE
) -> Answer[Any]:
    return Answer(render_json(shape), headers={**BY_ACCEPT, **headers})


def _wants_json(accept: Accept) -> bool:
    return accept.prefers(JSON, "text/html")
