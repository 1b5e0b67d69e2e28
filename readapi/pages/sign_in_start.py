"""Starts a sign-in at `/auth/start`: bound to the browser whose page requests it, or for a program."""

from collections.abc import Mapping

from readapi.http.admission import Authorization
from readapi.http.request.cookies import Browser, Cookies
from readapi.pages import notices
from readapi.pds.signing_in import PAGE, SignIn, bind_to_browser
from readapi.state.sign_in.authorization_requests import AuthorizationPurpose
from schemas.settings import Settings


class SignInStart:
    """Begins sign-ins. A browser's ends at the web application, or on a page of ours where there is none."""

    def __init__(self, signing_in: SignIn, settings: Settings) -> None:
        self._signing_in = signing_in
        self._cookies = Cookies(settings)
        self._admission = Authorization(settings)
        self._onward = {} if settings.web_url else {PAGE: notices.return_url("signed-in")}

    def is_by_page(self, browser: Browser) -> bool:
        """True when a page of this service or of the web application asks, not a link, and not a program.

        Browsers say so themselves: no other site's page can send this Origin.
        """
        return self._admission.is_ours(browser.origin)

    async def begin(
        self, name: str, browser: Browser, *, by_form: bool = False
    ) -> tuple[str, Mapping[str, str]]:
        """The page of a person's server, and headers for the answer that leads there. Raises OAuthError.

        `by_form`: by POST. Of that a browser that keeps its Origin to itself still says that a page of ours
        asks; of a GET it says the same when a stranger's picture on a page of ours leads here.
        """
        if not self.is_by_page(browser) and not (by_form and browser.fetch_site == "same-origin"):
            return await self._signing_in.begin(name, AuthorizationPurpose("sign_in")), {}
        secret = self._cookies.secret(browser)
        errand = AuthorizationPurpose("sign_in", details={**self._onward, **bind_to_browser(secret)})
        return await self._signing_in.begin(name, errand), self._cookies.leaving(secret)
