"""Requests that came over no connection, for tests of a single part."""

from aiohttp.test_utils import make_mocked_request

from readapi.http.limits.clients import Client
from readapi.http.request.request import Request, plain_path


def mocked_request(method: str, address: str, headers: object = None) -> Request:
    """A request as the gate passes it on, without a credential."""
    request = make_mocked_request(method, address, headers=headers)  # type: ignore[arg-type]
    request.__class__ = Request
    assert isinstance(request, Request)
    request.client, request.plain_path = (
        Client("198.51.100.7"),
        plain_path(request, address.partition("?")[0]),
    )
    return request
