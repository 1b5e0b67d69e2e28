"""The sign-in page, and the return from the user's authorization server."""

from readapi.answers import Answer
from readapi.errors import InvalidRequest
from readapi.http.request.cookies import Browser, Cookies
from readapi.http.request.headers import Accept, prefers_page
from readapi.http.viewer import InSession, SignedIn
from readapi.oauth.errors import OAuthError
from readapi.pages import notices, responses
from readapi.pages.form_errors import FormErrors, form_errors
from readapi.pages.page_routes import PageRoutes
from readapi.pages.portal import account_views
from readapi.pages.portal.settings_forms import AccountForm
from readapi.pages.render import Renderer
from readapi.pages.return_address import Landing
from readapi.pds import oauth_errors
from readapi.pds.signing_in import PAGE, NoSuchExchange, SignIn, TokenMade, bind_to_browser
from readapi.state.sign_in.authorization_requests import AuthorizationPurpose

routes = PageRoutes()


@routes.page("/login")
async def login_page(
    who: InSession | None, renderer: Renderer, note: str | None = None, to: Landing = "settings"
) -> Answer[str]:
    """Show the sign-in page; redirect an account that is signed in already to the requested page."""
    if who is not None:
        return responses.redirect_after_sign_in(to, note)
    return responses.account_page(
        renderer, "login.html", account_views.of_login(to, notices.find_notice(note))
    )


@routes.deed("/login", raises=oauth_errors.TO_START)
async def leave_to_sign_in(
    sent: AccountForm,
    accept: Accept,
    browser: Browser,
    signing_in: SignIn,
    cookies: Cookies,
    renderer: Renderer,
    to: Landing = "settings",
) -> Answer[str]:
    """Lead an account to its own server to sign in."""
    secret = cookies.secret(browser)
    purpose = AuthorizationPurpose(
        "sign_in", details={PAGE: notices.return_url("signed-in", to), **bind_to_browser(secret)}
    )
    try:
        page = await signing_in.begin(sent.wanted().handle, purpose)
    except InvalidRequest as error:
        attempt = form_errors("sign-in", sent, error, accept)
        view = account_views.of_login(to, attempt=attempt)
        return responses.account_page(renderer, "login.html", view, status=attempt.status)
    except OAuthError as error:
        refusal = oauth_errors.start_refusal(error)
        if not prefers_page(accept.header):
            raise refusal from error
        attempt = FormErrors("sign-in", {"handle": sent.handle}, {"handle": error.sentence})
        view = account_views.of_login(to, attempt=attempt)
        return responses.account_page(renderer, "login.html", view, status=refusal.status)
    return responses.lead_away(renderer, page, cookies.leaving(secret))


@routes.page(notices.RETURN, acts=True, even_ended=True)
async def come_back(
    who: SignedIn | None,
    browser: Browser,
    signing_in: SignIn,
    cookies: Cookies,
    renderer: Renderer,
    exchange_token: str = "",
    done: str | None = None,
    error: str | None = None,
    to: Landing = "settings",
) -> Answer[str]:
    """Complete a sign-in that began on a page of this service, and show the result."""
    if error is not None:
        return responses.sign_in(to, error)
    try:
        made = await signing_in.exchange(exchange_token, who, cookies.proof(browser))
    except NoSuchExchange:
        return responses.sign_in(to, "expired")
    if isinstance(made, TokenMade):
        return responses.account_page(renderer, "token.html", account_views.of_token(made))
    return responses.redirect_after_sign_in(to, done, cookies.session(made.session_id))


@routes.page(notices.ARRIVED, acts=True)
async def arrived(renderer: Renderer, exchange_token: str = "") -> Answer[str]:
    """Show the exchange token of a sign-in that a program started.

    The token does nothing in a browser: an attacker's link could have led a visitor here.
    """
    if not exchange_token:
        return responses.sign_in("settings")
    return responses.account_page(renderer, "arrived.html", account_views.of_arrival(exchange_token))
