"""aiohttp's request, with what is found out about it on its way to the handler.

Uses private names of aiohttp, as `http/connection.py` does: `pyproject.toml` names the minor version.
"""

from collections.abc import Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from aiohttp import HttpVersion, web
from multidict import CIMultiDictProxy

if TYPE_CHECKING:
    from readapi.http.endpoint import Endpoint
    from readapi.http.limits.clients import Client
    from readapi.http.viewer import Requester


class Request(web.Request):
    """`path_values`: the values of its path's names. `requester`: None without a credential.

    `plain_path`: its path, in which only slashes and percent signs within names are still escaped.
    Attributes, since each `request[key]` of the framework runs a function.
    """

    # As the framework has them, but read without a function of Python.
    method: str = property(attrgetter("_method"))  # type: ignore[assignment]
    headers: CIMultiDictProxy[str] = property(attrgetter("_headers"))  # type: ignore[assignment]
    version: HttpVersion = property(attrgetter("_version"))  # type: ignore[assignment]
    raw_path: str = property(attrgetter("_message.path"))  # type: ignore[assignment]

    ATTRS = web.Request.ATTRS | {"client", "endpoint", "path_values", "plain_path", "requester"}

    plain_path: str
    client: "Client"
    requester: "Requester | None" = None
    endpoint: "Endpoint | None" = None
    path_values: Mapping[str, str] = MappingProxyType({})

    def clone(self, **changes: Any) -> "Request":
        """A copy with other values of what the client sent, such as `rel_url`."""
        copy = super().clone(**changes)
        assert isinstance(copy, Request)
        copy.plain_path, copy.client, copy.requester = self.plain_path, self.client, self.requester
        copy.endpoint, copy.path_values = self.endpoint, self.path_values
        return copy


def plain_path(request: web.Request, path: str) -> str:
    """A request's path, in which only slashes and percent signs within names are still escaped.

    `path`: as it was sent.
    """
    if path.startswith("/") and path.isascii() and "%" not in path and "#" not in path:
        return path  # as most are: to unescape one costs a microsecond
    return request.rel_url.path_safe
