"""The page to sign in on, and the way back to ours from a person's own server."""

from readapi import refusing
from readapi.accept import Accept
from readapi.answers import Answer
from readapi.cookies import Browser, Cookies
from readapi.oauth.errors import OAuthError
from readapi.pages import account_views, answer, notes, refusals
from readapi.pages.account_views import Attempt
from readapi.pages.landing import Landing
from readapi.pages.page_routes import PageRoutes
from readapi.pages.render import Renderer
from readapi.signing_in import PAGE, NoSuchExchange, SigningIn, TokenMade, bound_to
from readapi.state.errand import Errand
from readapi.viewer import InSession, SignedIn
from schemas.api.auth import AddAccount

routes = PageRoutes()


@routes.page("/login")
async def login_page(
    who: InSession | None, renderer: Renderer, note: str | None = None, to: Landing = "settings"
) -> Answer[str]:
    """Show where to sign in; to those who have, the page that they want to go on to."""
    if who is not None:
        return answer.landed(to, note)
    return answer.account(renderer, "login.html", account_views.of_login(to, notes.note(note)))


@routes.deed("/login", raises=refusing.TO_START)
async def leave_to_sign_in(
    sent: AddAccount,
    accept: Accept,
    browser: Browser,
    signing_in: SigningIn,
    cookies: Cookies,
    renderer: Renderer,
    to: Landing = "settings",
) -> Answer[str]:
    """Lead somebody to their own server, to sign in there."""
    secret = cookies.secret(browser)
    errand = Errand("sign_in", details={PAGE: notes.back("signed-in", to), **bound_to(secret)})
    try:
        page = await signing_in.begin(sent.handle, errand)
    except OAuthError as error:
        refusal = refusing.of_start(error)
        if not refusals.prefers_page(accept.header):
            raise refusal from error
        view = account_views.of_login(to, attempt=Attempt(sent.handle, error.sentence))
        return answer.account(renderer, "login.html", view, status=refusal.status)
    return answer.away(page, cookies.leaving(secret))


@routes.page(notes.RETURN, acts=True, even_ended=True)
async def come_back(
    who: SignedIn | None,
    browser: Browser,
    signing_in: SigningIn,
    cookies: Cookies,
    renderer: Renderer,
    exchange_token: str = "",
    done: str | None = None,
    error: str | None = None,
    to: Landing = "settings",
) -> Answer[str]:
    """Take back whoever left from a page of ours, and show what came of it."""
    if error is not None:
        return answer.sign_in(to, error)
    try:
        made = await signing_in.exchange(exchange_token, who, cookies.proof(browser))
    except NoSuchExchange:
        return answer.sign_in(to, "expired")
    if isinstance(made, TokenMade):
        return answer.account(renderer, "token.html", account_views.of_token(made))
    return answer.landed(to, done, cookies.session(made.session_id))


@routes.page(notes.ARRIVED, acts=True)
async def arrived(renderer: Renderer, exchange_token: str = "") -> Answer[str]:
    """Give the exchange token to a person whose program began to sign them in.

    It is of no use in a browser: a link could have led a visitor here who asked for nothing.
    """
    if not exchange_token:
        return answer.sign_in("settings")
    return answer.account(renderer, "arrived.html", account_views.of_arrival(exchange_token))
