"""API keys in addresses, as OpenSubsonic's clients send them: developer tokens, and under `/rest/` alone."""

from typing import Final

from aiohttp import web

from readapi.state.db.one_time import DEVELOPER_TOKEN

PREFIX: Final = "/rest/"
API_KEY: Final = "apiKey"


def is_under_rest(request: web.Request) -> bool:
    """Whether a request is for a method of OpenSubsonic. Headers and cookies are no credentials there."""
    return request.raw_path.startswith(PREFIX)


def read_api_key(request: web.Request) -> str | None:
    """The developer token in a request's address. Sessions, which can do more, are none."""
    key = request.query.get(API_KEY, "")
    return key if key.startswith(DEVELOPER_TOKEN) else None
