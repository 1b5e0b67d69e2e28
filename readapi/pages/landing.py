"""Where somebody goes on to after signing in: a page of ours, never another site. Pure."""

import re
from typing import Annotated
from urllib.parse import unquote, urlencode

from pydantic import BeforeValidator

OWN = ("settings", "portal")  # of ours, for whoever is signed in; they tell notes
_LONGEST = 1000
_SEGMENT = r"(?:[\w.~:@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+"
_PUBLIC = re.compile(rf"/(?:track|playlist)/{_SEGMENT}|/u/{_SEGMENT}(?:/album/{_SEGMENT})?", re.ASCII)
_DOTS = (".", "..")  # browsers take these segments for a way up, percent-encoded too


def _known(name: object) -> object:
    return name if name in OWN or (isinstance(name, str) and _is_public(name)) else "settings"


def _is_public(path: str) -> bool:
    """Whether this is the path of a public page, and nothing that a browser reads otherwise."""
    if len(path) > _LONGEST or _PUBLIC.fullmatch(path) is None:
        return False
    return all(unquote(segment) not in _DOTS for segment in path.split("/"))


Landing = Annotated[str, BeforeValidator(_known)]  # one of OWN, or the path of a public page


def path(to: Landing) -> str:
    """The page's path."""
    return f"/{to}" if to in OWN else to


def query(to: Landing, **more: str) -> str:
    """The query of an address that says where to go on."""
    return urlencode({**more, "to": to}, safe="/")
