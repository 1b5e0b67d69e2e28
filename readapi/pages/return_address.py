"""The page to return to after signing in: always one of this service, never another site. Pure."""

import re
from typing import Annotated
from urllib.parse import unquote, urlencode

from pydantic import BeforeValidator

OWN = ("settings", "portal")  # pages for the signed-in account, which show notices
_LONGEST = 1000
_SEGMENT = r"(?:[\w.~:@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+"
_QUERY = r"(?:\?(?:[\w.~:@$'()*+,;&=-]|%[0-9A-Fa-f]{2})*)?"
_PUBLIC = re.compile(
    rf"/(?:track|playlists?|tag)/{_SEGMENT}|/u/{_SEGMENT}(?:/likes|/album/{_SEGMENT})?"
    rf"|/notices/[0-9]+|/(?:(?:search/?|top|new|tags|liked|playlists|report|notice){_QUERY})?",
    re.ASCII,
)
_DOTS = (".", "..")  # browsers resolve these segments as parent folders, percent-encoded too


def _validate_landing(name: object) -> object:
    return name if name in OWN or (isinstance(name, str) and _is_public(name)) else "settings"


def _is_public(path: str) -> bool:
    """Whether this is the path of a public page, also as browsers parse it."""
    if len(path) > _LONGEST or _PUBLIC.fullmatch(path) is None:
        return False
    return all(unquote(segment) not in _DOTS for segment in path.partition("?")[0].split("/"))


Landing = Annotated[str, BeforeValidator(_validate_landing)]  # one of OWN, or the path of a public page


def page_path(to: Landing) -> str:
    """The page's path."""
    return f"/{to}" if to in OWN else to


def return_query(to: Landing, **more: str) -> str:
    """The query string that names the page to return to."""
    return urlencode({**more, "to": to}, safe="/")
