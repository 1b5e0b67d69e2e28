"""Outbound links from records: players are redirected; browsers get a page that asks first."""

import re
from http import HTTPStatus

from aiohttp import web

from readapi.answers import HTML
from readapi.errors import NotFound
from readapi.http.request import headers
from readapi.http.response.headers import NO_REFERRER
from readapi.pages import security_headers
from readapi.pages.render import Renderer

NOWHERE = "This recording is stored by another service, at a URL that cannot be shown."

# Browsers and libraries parse unusual URLs differently, so the host that they lead to is uncertain.
_HOST = re.compile(r"https?://((?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]+)?)(?:[/?#]|$)", re.IGNORECASE)


class Leaving:
    """Responses that lead to a URL at another service."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer

    def response(self, url: str, told: dict[str, str], *, is_to_page: bool) -> web.Response:
        """A redirect, or for a browser that would show the target a page that names the host and asks.

        Raises NotFound when the host cannot be named.
        """
        varied = {**told, "Vary": ", ".join([*filter(None, [told.get("Vary")]), *headers.VARIES])}
        if not is_to_page:
            led = {**varied, **NO_REFERRER, "Location": url}
            return web.Response(status=HTTPStatus.FOUND, headers=led)
        found = _HOST.match(url)
        if found is None:
            raise NotFound(NOWHERE)
        body = self._renderer.page("leaving.html", host=found[1].lower(), address=url)
        shown = {"Vary": varied["Vary"], **security_headers.leaving_headers(), "Content-Type": HTML}
        return web.Response(body=body, headers=shown)
