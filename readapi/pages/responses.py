"""Responses with a rendered page or a redirect, with the security headers that they need."""

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType

from yarl import URL

from readapi.answers import HTML, Answer
from readapi.http.viewer import SignedIn
from readapi.pages import notices, return_address, security_headers
from readapi.pages.form_errors import FormErrors
from readapi.pages.notices import Notice
from readapi.pages.public.look import Look
from readapi.pages.public.metadata import Metadata
from readapi.pages.render import Renderer
from readapi.pages.return_address import Landing

_NOTHING_MORE: Mapping[str, str] = MappingProxyType({})


def public_page(
    renderer: Renderer,
    template: str,
    view: Mapping[str, object],
    who: SignedIn | None = None,
    style: str = "",
    *,
    status: int = HTTPStatus.OK,
) -> Answer[str]:
    """A public page. Its oEmbed links are in a header as well, for clients that send HEAD.

    `who`: the account that it is made for; pages for strangers offer to sign in and come back.
    `style`: the one style element of the page, if it has one.
    """
    addresses, head = renderer.addresses, view["head"]
    assert isinstance(head, Metadata)
    headers = security_headers.page_headers(addresses.base_url, is_personal=who is not None, style=style)
    if head.player:
        headers["Link"] = ", ".join(
            f'<{addresses.oembed(head.address, form)}>; rel="alternate"; type="{media_type}"'
            for form, media_type in (("json", "application/json+oembed"), ("xml", "text/xml+oembed"))
        )
    sign_in, account = (addresses.sign_in(head.address), None) if who is None else (None, who.name)
    body = renderer.page(template, sign_in=sign_in, account=account, **view)
    return Answer(body, HTML, status, headers)


def form_page(
    renderer: Renderer,
    template: str,
    view: Mapping[str, object],
    who: SignedIn | None,
    attempt: FormErrors,
    note: Notice | None = None,
) -> Answer[str]:
    """A public page with a form. A refused form is shown as it was typed, with its errors."""
    shown = {**view, "attempt": attempt, "note": attempt.note or note}
    return public_page(renderer, template, shown, who, status=attempt.status)


def player_page(
    renderer: Renderer, template: str, view: Mapping[str, object], look: Look, start: int
) -> Answer[str]:
    """A player for other sites. `start`: the second at which it begins."""
    return public_page(renderer, template, {**view, "look": look, "start": start}, style=look.style)


def account_page(
    renderer: Renderer,
    template: str,
    view: Mapping[str, object],
    *,
    account: str | None = None,
    status: int = HTTPStatus.OK,
    headers: Mapping[str, str] = _NOTHING_MORE,
) -> Answer[str]:
    """A page of the sign-in or the settings. `account`: the name of who is signed in."""
    told = {**security_headers.account_headers(), **headers}
    return Answer(renderer.page(template, account=account, **view), HTML, status, told)


def portal_page(
    renderer: Renderer,
    template: str,
    view: Mapping[str, object],
    account: str,
    status: int = HTTPStatus.OK,
) -> Answer[str]:
    """A page of the Portal, for the account of this name."""
    page = renderer.page(template, account=account, **view)
    return Answer(page, HTML, status, security_headers.portal_headers(renderer.addresses.base_url))


def redirect_with_notice(
    page: str, note: str | None = None, headers: Mapping[str, str] = _NOTHING_MORE
) -> Answer[str]:
    """Redirect to another page of ours with a notice: reloading that page repeats no action."""
    told = {} if note is None or notices.find_notice(note) is None else {"note": note}
    return redirect_away(str(URL(page).update_query(told)), headers)


def sign_in(to: Landing, note: str | None = None) -> Answer[str]:
    """Redirect to the sign-in page, which then leads on to a page."""
    return redirect_with_notice(
        "/login" if to == "settings" else f"/login?{return_address.return_query(to)}", note
    )


def redirect_after_sign_in(
    to: Landing, note: str | None, headers: Mapping[str, str] = _NOTHING_MORE
) -> Answer[str]:
    """Redirect to the requested page after signing in. Public pages show no notices."""
    return redirect_with_notice(
        return_address.page_path(to), note if to in return_address.OWN else None, headers
    )


def lead_away(renderer: Renderer, address: str, headers: Mapping[str, str] = _NOTHING_MORE) -> Answer[str]:
    """Answer a form by going on to another server, by way of a page of ours.

    Chromium holds redirects of a form's answer to `form-action` too, and that allows this service only.
    """
    told = {**security_headers.account_headers(), **headers}
    return Answer(renderer.page("onward.html", address=address), HTML, headers=told)


def redirect_away(address: str, headers: Mapping[str, str] = _NOTHING_MORE) -> Answer[str]:
    """Redirect to any URL."""
    return Answer(b"", HTML, HTTPStatus.SEE_OTHER, {"Location": address, **headers})
