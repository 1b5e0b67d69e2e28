"""Requests of the command line to the service."""

import os
from typing import Annotated, Any
from urllib.parse import urlsplit

import httpx2
from cyclopts import Parameter

from fmsvc import __version__
from fmsvc.errors import FmsvcError

ADDRESS_VARIABLES = ("FMSVC_API_URL", "FMSVC_URL")
_MAX_BYTES = 1 << 24
_TIMEOUT_SECONDS = 30.0

ApiUrl = Annotated[
    str | None, Parameter(name="--api-url", help="The service; else FMSVC_API_URL, or FMSVC_URL.")
]


def find_api_url(given: str | None) -> str:
    """The service's address, without a slash at its end. Raises FmsvcError."""
    address = given or next(filter(None, map(os.environ.get, ADDRESS_VARIABLES)), None)
    if address is None:
        raise FmsvcError("No service is named: set FMSVC_API_URL, or give --api-url.", code="usage")
    if not is_web_address(address):
        raise FmsvcError("The service's address must begin with https:// or http://.", code="usage")
    return address.rstrip("/")


def is_web_address(address: str) -> bool:
    """Is this an http or https URL of printable ASCII?"""
    if not address.isascii() or not address.isprintable() or " " in address:
        return False
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def request(
    api_url: str,
    method: str,
    path: str,
    *,
    token: str | None = None,
    query: dict[str, str] | None = None,
    sent: dict[str, Any] | None = None,
) -> Any:
    """The JSON that the service answers with, or None. Raises FmsvcError; redirects are not followed."""
    headers = {"Accept": "application/json", "User-Agent": f"fmsvc/{__version__}"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    try:
        with (
            httpx2.Client(timeout=_TIMEOUT_SECONDS) as client,
            client.stream(method, api_url + path, params=query, json=sent, headers=headers) as response,
        ):
            body = _read(response)
            return _parse(response, body)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise FmsvcError(f"The service at {api_url} cannot be reached.", code="unreachable") from error


def _read(response: httpx2.Response) -> bytes:
    body = bytearray()
    for part in response.iter_bytes():
        body += part
        if len(body) > _MAX_BYTES:
            raise FmsvcError("The service's answer is too long.", status=response.status_code)
    return bytes(body)


def _parse(response: httpx2.Response, body: bytes) -> Any:
    import json

    status, request_id = response.status_code, response.headers.get("X-Request-ID")
    try:
        found = json.loads(body) if body else None
    except ValueError:
        found = {}
        if response.is_success:
            raise FmsvcError("The service did not answer with JSON.", status=status) from None
    if response.is_success:
        return found
    told = found if isinstance(found, dict) else {}
    message = str(told.get("message") or f"The service answered with status {status}.")
    raise FmsvcError(message, status=status, code=told.get("detail"), request_id=request_id)
