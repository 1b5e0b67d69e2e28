"""Who may use a route: decided here and nowhere else."""

from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import web
from yarl import URL

from readapi.errors import ForeignOrigin, NotAuthenticated, ScopeUpgradeRequired
from readapi.oauth import scopes
from readapi.oauth.scopes import Need
from readapi.viewer import ASKER, Asker, InSession, SignedIn
from schemas.settings import Settings

SAFE_METHODS = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Needs:
    """What a route asks of whoever uses it.

    `even_ended`: also somebody whose own server has ended what they granted; to sign out, say.
    `from_any_page`: nobody may do it from other sites' pages too, as there is no cookie to misuse.
    """

    signed_in: bool = False
    in_session: bool = False
    scopes: Sequence[Need] = ()
    even_ended: bool = False
    from_any_page: bool = False


class Admission:
    """Compares what a route needs with who asks."""

    def __init__(self, settings: Settings) -> None:
        self._collections = settings.collections
        ours = (settings.base_url, settings.web_url)
        self._origins = {str(URL(url).origin()) for url in ours if url is not None}

    def admit(self, request: web.Request, needs: Needs) -> SignedIn | None:
        """Who asks, None: nobody, and nobody needs to. Raises the refusal."""
        asker = request.get(ASKER)
        if request.method not in SAFE_METHODS:
            self._check_origin(request, asker, needs)
        who = _known(asker, needs)
        if who is None and needs.signed_in:
            raise NotAuthenticated() if asker is None or asker.refusal is None else asker.refusal
        if who is None:
            return None
        if needs.in_session and not isinstance(who, InSession):
            raise NotAuthenticated("A developer token cannot do this; sign in.")
        self.check_scopes(who, *needs.scopes)
        return who

    def is_ours(self, origin: str | None) -> bool:
        """True for the Origin header of this service's own pages and of the web application's."""
        return origin in self._origins

    def _check_origin(self, request: web.Request, asker: Asker | None, needs: Needs) -> None:
        """Browsers send cookies whoever's page asks them to; but they say whose page it is."""
        if asker is None and needs.from_any_page:
            return
        if (asker is None or asker.by_cookie) and self._is_foreign(request):
            raise ForeignOrigin

    def _is_foreign(self, request: web.Request) -> bool:
        """Whether another site's page asks. A program that keeps cookies names no page, as no browser does.

        Browsers name the origin with every method but GET and HEAD (https://fetch.spec.whatwg.org, "append a
        request `Origin` header"), and send this cookie to no other site's POST: it is SameSite=Lax.
        """
        origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
        if origin is None:
            return site == "cross-site"
        # A browser that sends no referrer hides the origin of our own forms too, but says that they are ours.
        return not self.is_ours(origin) and (origin, site) != ("null", "same-origin")

    def check_scopes(self, who: SignedIn, *needs: Need) -> None:
        """Raises ScopeUpgradeRequired for what they have not granted."""
        wanted = [scopes.named(need, self._collections) for need in needs]
        if missing := scopes.missing(who.scopes, wanted, self._collections):
            told = f"You have not granted {', '.join(missing)}; ask for it at /auth/scope-upgrade/start."
            raise ScopeUpgradeRequired(told)


def _known(asker: Asker | None, needs: Needs) -> SignedIn | None:
    if asker is None:
        return None
    return asker.signed_in if needs.even_ended else asker.viewer
