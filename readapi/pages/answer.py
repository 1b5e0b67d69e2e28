"""A rendered page as an answer, with the headers that its content needs."""

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType

from yarl import URL

from readapi.answers import HTML, Answer
from readapi.pages import notes, policy
from readapi.pages.metadata import Metadata
from readapi.pages.render import Renderer

_NOTHING_MORE: Mapping[str, str] = MappingProxyType({})


def page(renderer: Renderer, template: str, view: Mapping[str, object]) -> Answer[str]:
    """A page about a record. Its oEmbed links stand in a header as well, for those who send HEAD."""
    addresses, head = renderer.addresses, view["head"]
    assert isinstance(head, Metadata)
    headers = policy.page_headers(addresses.base_url)
    if head.player:
        headers["Link"] = ", ".join(
            f'<{addresses.oembed(head.address, form)}>; rel="alternate"; type="{media_type}"'
            for form, media_type in (("json", "application/json+oembed"), ("xml", "text/xml+oembed"))
        )
    return Answer(renderer.page(template, **view), HTML, headers=headers)


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


def sign_in(to: notes.Page, note: str | None = None) -> Answer[str]:
    """Where somebody signs in who then wants to go on to a page."""
    return onward("/login" if to == "settings" else f"/login?to={to}", note)


def away(address: str, headers: Mapping[str, str] = _NOTHING_MORE) -> Answer[str]:
    """On to wherever this address leads."""
    return Answer(b"", HTML, HTTPStatus.SEE_OTHER, {"Location": address, **headers})
