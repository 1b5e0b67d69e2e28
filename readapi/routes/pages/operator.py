"""Pages with the operator's own texts, and the contact for reports of vulnerabilities."""

from readapi.answers import HTML, Answer
from readapi.errors import NotFound
from readapi.http.endpoint import Routes
from readapi.http.viewer import SignedIn
from readapi.pages import responses
from readapi.pages.public.operator import Name, OperatorTexts
from readapi.pages.render import Renderer
from readapi.pages.urls import Addresses
from schemas import datetimes

routes = Routes("pages")

TEXT = "text/plain; charset=utf-8"


@routes.get("/about", media_types=(HTML,))
def about(texts: OperatorTexts, who: SignedIn | None, renderer: Renderer) -> Answer[str]:
    """Say who runs this service."""
    return _page("about", texts, who, renderer)


@routes.get("/terms", media_types=(HTML,), raises=(NotFound,))
def terms(texts: OperatorTexts, who: SignedIn | None, renderer: Renderer) -> Answer[str]:
    """Show the terms of this service."""
    return _page("terms", texts, who, renderer)


@routes.get("/privacy", media_types=(HTML,), raises=(NotFound,))
def privacy(texts: OperatorTexts, who: SignedIn | None, renderer: Renderer) -> Answer[str]:
    """Say how this service treats personal data."""
    return _page("privacy", texts, who, renderer)


@routes.get("/.well-known/security.txt", media_types=("text/plain",), described=False, raises=(NotFound,))
def security_txt(texts: OperatorTexts, addresses: Addresses) -> Answer[str]:
    """Tell whom to report a vulnerability to."""
    told = texts.security_txt(addresses, datetimes.this_minute())
    if told is None:
        raise NotFound("The operator of this service has named no contact.")
    return Answer(told.encode(), TEXT)


def _page(name: Name, texts: OperatorTexts, who: SignedIn | None, renderer: Renderer) -> Answer[str]:
    view = texts.view(name, renderer.addresses)
    if view is None:
        raise NotFound("The operator of this service has published no such text.")
    return responses.public_page(renderer, "operator.html", view, who)
