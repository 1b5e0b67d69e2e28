"""A rendered page as an answer, with the headers that its content needs."""

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType

from yarl import URL

from readapi.answers import HTML, Answer
from readapi.pages import landing, notes, policy
from readapi.pages.landing import Landing
from readapi.pages.metadata import Metadata
from readapi.pages.render import Renderer

_NOTHING_MORE: Mapping[str, str] = MappingProxyType({})


def page(
    renderer: Renderer, template: str, view: Mapping[str, object], *, is_personal: bool = False
) -> Answer[str]:
    """A page about a record. Its oEmbed links stand in a header as well, for those who send HEAD.

    `is_personal`: made for somebody who is signed in; the others are offered to sign in and come back.
    """
    addresses, head = renderer.addresses, view["head"]
    assert isinstance(head, Metadata)
    headers = policy.page_headers(addresses.base_url, is_personal=is_personal)
    if head.player:
        headers["Link"] = ", ".join(
            f'<{addresses.oembed(head.address, form)}>; rel="alternate"; type="{media_type}"'
            for form, media_type in (("json", "application/json+oembed"), ("xml", "text/xml+oembed"))
        )
    sign_in = None if is_personal else addresses.sign_in(head.address)
    return Answer(renderer.page(template, sign_in=sign_in, **view), HTML, headers=headers)


def account(
    renderer: Renderer,
    template: str,
    view: Mapping[str, object],
    *,
    status: int = HTTPStatus.OK,
    headers: Mapping[str, str] = _NOTHING_MORE,
) -> Answer[str]:
    """A page of signing in."""
    told = {**policy.account_headers(renderer.addresses.base_url), **headers}
    return Answer(renderer.page(template, **view), HTML, status, told)


def portal(
    renderer: Renderer, template: str, view: Mapping[str, object], status: int = HTTPStatus.OK
) -> Answer[str]:
    """A page of the Portal."""
    return Answer(renderer.page(template, **view), HTML, status, policy.portal_headers())


def onward(page: str, note: str | None = None, headers: Mapping[str, str] = _NOTHING_MORE) -> Answer[str]:
    """On to another page of ours, which tells what was done: reloading it does nothing again."""
    told = {} if note is None or notes.note(note) is None else {"note": note}
    return away(str(URL(page).update_query(told)), headers)


def sign_in(to: Landing, note: str | None = None) -> Answer[str]:
    """Where somebody signs in who then wants to go on to a page."""
    return onward("/login" if to == "settings" else f"/login?{landing.query(to)}", note)


def landed(to: Landing, note: str | None, headers: Mapping[str, str] = _NOTHING_MORE) -> Answer[str]:
    """On to where somebody wanted to go. Public pages tell no notes."""
    return onward(landing.path(to), note if to in landing.OWN else None, headers)


def away(address: str, headers: Mapping[str, str] = _NOTHING_MORE) -> Answer[str]:
    """On to wherever this address leads."""
    return Answer(b"", HTML, HTTPStatus.SEE_OTHER, {"Location": address, **headers})
