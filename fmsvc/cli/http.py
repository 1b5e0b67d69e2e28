"""Requests of the command line to the service, by the client."""

from typing import Annotated, Any
from urllib.parse import urlsplit

from cyclopts import Parameter

from fmsvc import __version__, addresses
from fmsvc._sync.http import Http
from fmsvc.errors import ConfigurationError, FmsvcError, UnreachableError

_TIMEOUT_SECONDS = 30.0

ApiUrl = Annotated[
    str | None, Parameter(name="--api-url", help="The service; else FMSVC_API_URL, or FMSVC_URL.")
]


def find_api_url(given: str | None) -> str:
    """The service's address, without a slash at its end. Raises FmsvcError."""
    try:
        address = addresses.find_api_url(given)
    except ConfigurationError as error:
        raise FmsvcError(error.message.replace("give api_url=", "give --api-url"), code="usage") from error
    if not is_web_address(address):
        raise FmsvcError("The service's address must begin with https:// or http://.", code="usage")
    return address


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
    *path: str,
    token: str | None = None,
    query: dict[str, str] | None = None,
    sent: dict[str, Any] | None = None,
) -> Any:
    """The JSON that the service answers with, or None. Raises FmsvcError; redirects are not followed.

    `path`: its segments. Sent once, with this token or none.
    """
    service = Http(
        token=token or "",
        api_url=api_url,
        timeout=_TIMEOUT_SECONDS,
        user_agent=f"fmsvc/{__version__}",
        transport=None,
        max_retries=0,
    )
    try:
        return service.ask(method, *path, query=query, sent=sent)
    except UnreachableError as error:
        raise FmsvcError(f"The service at {api_url} cannot be reached.", code="unreachable") from error
    finally:
        service.close()
