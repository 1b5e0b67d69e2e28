"""Who may use a route: decided here and nowhere else."""

from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import web
from yarl import URL

from readapi.errors import ForeignOrigin, NotAuthenticated, ScopeUpgradeRequired
from readapi.http.request.request import Request
from readapi.http.viewer import InSession, Requester, SignedIn
from readapi.oauth import scopes
from readapi.oauth.scopes import Need
from schemas.settings import Settings

SAFE_METHODS = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Requirements:
    """What a route requires of the requester.

    `even_ended`: accounts whose grant has ended are admitted as well, for example to sign out.
    `from_any_page`: without a credential, pages of other sites may call it: there is no cookie to misuse.
    """

    signed_in: bool = False
    in_session: bool = False
    scopes: Sequence[Need] = ()
    even_ended: bool = False
    from_any_page: bool = False


class Authorization:
    """Compares a route's requirements with the requester's credential and scopes."""

    def __init__(self, settings: Settings) -> None:
        self._collections = settings.collections
        ours = (settings.base_url, settings.web_url)
        self._origins = {str(URL(url).origin()) for url in ours if url is not None}

    def admit(self, request: Request, needs: Requirements) -> SignedIn | None:
        """The requester's account, or None on a route that needs no credential. Raises the refusal."""
        requester = request.requester
        if request.method not in SAFE_METHODS:
            self._check_origin(request, requester, needs)
        who = None if requester is None else _find_account(requester, needs)
        if who is None and needs.signed_in:
            raise NotAuthenticated() if requester is None or requester.refusal is None else requester.refusal
        if who is None:
            return None
        if needs.in_session and not isinstance(who, InSession):
            raise NotAuthenticated("A developer token cannot do this; sign in.")
        self.check_scopes(who, *needs.scopes)
        return who

    def is_ours(self, origin: str | None) -> bool:
        """True for the Origin header of this service's own pages and of the web application's."""
        return origin in self._origins

    def _check_origin(self, request: web.Request, requester: Requester | None, needs: Requirements) -> None:
        """Refuse a cookie sent from another site's page: browsers attach cookies to any site's request."""
        if requester is None and needs.from_any_page:
            return
        if (requester is None or requester.by_cookie) and self._is_foreign(request):
            raise ForeignOrigin

    def _is_foreign(self, request: web.Request) -> bool:
        """Whether another site's page sent this. Other programs that keep cookies send no Origin header.

        Browsers name the origin with every method but GET and HEAD (https://fetch.spec.whatwg.org, "append a
        request `Origin` header"), and send this cookie to no other site's POST: it is SameSite=Lax.
        """
        origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
        if origin is None:
            return site == "cross-site"
        # With referrers off, browsers send `Origin: null` for our own forms too, but still `same-origin`.
        return not self.is_ours(origin) and (origin, site) != ("null", "same-origin")

    def check_scopes(self, who: SignedIn, *needs: Need) -> None:
        """Raises ScopeUpgradeRequired for scopes that the account has not granted."""
        wanted = [scopes.scope_for(need, self._collections) for need in needs]
        if missing := scopes.missing_scopes(who.scopes, wanted, self._collections):
            sentence = f"You have not granted {', '.join(missing)}; ask for it at /auth/scope-upgrade/start."
            raise ScopeUpgradeRequired(sentence)


def _find_account(requester: Requester, needs: Requirements) -> SignedIn | None:
    return requester.signed_in if needs.even_ended else requester.viewer
