"""OpenSubsonic: the catalogue for music players, described in docs/subsonic.md."""

from typing import Any

from aiohttp import web

from readapi.answers import Answer
from readapi.errors import RateLimited, RequestTimeout, TooLarge
from readapi.http.endpoint import Routes
from readapi.http.request.api_keys import PREFIX
from readapi.http.request.request import Request
from readapi.subsonic.service import Subsonic

routes = Routes("meta")

_TYPES = ("text/xml", "application/json", "audio/*", "image/*")


@routes.get(
    f"{PREFIX}{{method}}", described=False, acts=True, media_types=_TYPES, raises=(RateLimited, TooLarge)
)
async def answer_rest(method: str, request: Request, subsonic: Subsonic) -> Answer[Any] | web.StreamResponse:
    """Answer a method of OpenSubsonic, as XML or JSON.

    Some methods write although they are asked for by GET. An API key is needed, and cookies are ignored, so
    that no other site's page can ask for them with a visitor's session.
    """
    return await subsonic.answer(request, method)


@routes.post(
    f"{PREFIX}{{method}}",
    described=False,
    from_any_page=True,
    media_types=_TYPES,
    raises=(RateLimited, RequestTimeout, TooLarge),
)
async def answer_rest_form(
    method: str, request: Request, subsonic: Subsonic
) -> Answer[Any] | web.StreamResponse:
    """Answer the same, with the parameters in a form."""
    return await subsonic.answer(request, method)
