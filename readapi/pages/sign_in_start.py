"""Starts a sign-in at `/auth/start`: bound to the browser whose page requests it, or for a program."""

from collections.abc import Mapping

from readapi.http.admission import Authorization
from readapi.http.request.cookies import Browser, Cookies
from readapi.pages import notices
from readapi.pds.native_clients import NativeClient
from readapi.pds.signing_in import PAGE, SignIn, bind_to_browser
from readapi.state.sign_in.authorization_requests import AuthorizationPurpose
from schemas.settings import Settings


class SignInStart:
    """Begins sign-ins. In a browser they end at the web application, else on a page of this service."""

    def __init__(self, signing_in: SignIn, settings: Settings) -> None:
        self._signing_in = signing_in
        self._cookies = Cookies(settings)
        self._admission = Authorization(settings)
        self._onward = {} if settings.web_url else {PAGE: notices.return_url("signed-in")}

    def is_by_page(self, browser: Browser) -> bool:
        """Whether a page of this service or the web application sent this, not a link or a program.

        Browsers set the Origin header themselves: no other site's page can send this value.
        """
        return self._admission.is_ours(browser.origin)

    async def begin(
        self, name: str, browser: Browser, *, by_form: bool = False, native: NativeClient | None = None
    ) -> tuple[str, Mapping[str, str]]:
        """The URL at the account's server, and headers for the redirect. Raises OAuthError.

        `by_form`: the request is a POST. Browsers that omit the Origin of a POST still state that a page of
        this service sent it (Sec-Fetch-Site). For a GET they state the same when an image on such a page
        redirects here, so it proves nothing.
        `native`: the program on the user's machine that began the sign-in, and alone can end it.
        """
        if native is not None:
            return await self._signing_in.begin(
                name, AuthorizationPurpose("sign_in", details=native.details())
            ), {}
        if not self.is_by_page(browser) and not (by_form and browser.fetch_site == "same-origin"):
            return await self._signing_in.begin(name, AuthorizationPurpose("sign_in")), {}
        secret = self._cookies.secret(browser)
        purpose = AuthorizationPurpose("sign_in", details={**self._onward, **bind_to_browser(secret)})
        return await self._signing_in.begin(name, purpose), self._cookies.leaving(secret)
