"""Ways out to addresses that stand in records: players are led there, and people are asked first."""

import re
from http import HTTPStatus

from aiohttp import web

from readapi import navigation
from readapi.answers import HTML
from readapi.errors import NotFound
from readapi.headers import NO_REFERRER
from readapi.pages import policy
from readapi.pages.render import Renderer

NOWHERE = "This recording is kept by another service, at an address that cannot be shown."

# Unusual addresses are read differently by browsers and libraries: which host they lead to cannot be told.
_HOST = re.compile(r"https?://((?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]+)?)(?:[/?#]|$)", re.IGNORECASE)


class Leaving:
    """Answers with an address of another service."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer

    def response(self, url: str, told: dict[str, str], *, is_to_page: bool) -> web.Response:
        """A redirect; where a browser would show what is there, a page that names the host and asks.

        Raises NotFound when the host cannot be named.
        """
        varied = {**told, "Vary": ", ".join([*filter(None, [told.get("Vary")]), *navigation.VARIES])}
        if not is_to_page:
            led = {**varied, **NO_REFERRER, "Location": url}
            return web.Response(status=HTTPStatus.FOUND, headers=led)
        found = _HOST.match(url)
        if found is None:
            raise NotFound(NOWHERE)
        body = self._renderer.page("leaving.html", host=found[1].lower(), address=url)
        shown = {"Vary": varied["Vary"], **policy.leaving_headers(), "Content-Type": HTML}
        return web.Response(body=body, headers=shown)
