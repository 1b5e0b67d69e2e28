"""Addresses of the service and of its routes, and which redirects are safe. Reads only the environment."""

import os
from urllib.parse import quote, urlsplit

import httpx2

from fmsvc.errors import AnswerError, ConfigurationError

ADDRESS_VARIABLES = ("FMSVC_API_URL", "FMSVC_URL")


def find_api_url(given: str | None) -> str:
    """The service's address, without a slash at its end. Raises ConfigurationError."""
    address = given or next(filter(None, map(os.environ.get, ADDRESS_VARIABLES)), None)
    if address is None:
        raise ConfigurationError("No service is named: set FMSVC_API_URL, or give api_url=.")
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.username
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError("The service's address must begin with https:// or http://.")
    return address.rstrip("/")


def path_of(*segments: object) -> str:
    """Segments -> a path. Raises ConfigurationError for one that would lead to another route."""
    if any(str(segment) in (".", "..") for segment in segments):
        raise ConfigurationError("A dot is no id.")
    return "/" + "/".join(quote(str(segment), safe="") for segment in segments)


def origin(url: str) -> tuple[str, str | None, int | None]:
    """Scheme, host and port."""
    parts = httpx2.URL(url)
    return parts.scheme, parts.host, parts.port


def check_redirect(url: str, api_url: str) -> None:
    """Raises AnswerError for a redirect to something else than the web, or from https to http."""
    scheme = httpx2.URL(url).scheme
    if scheme != "https" and (scheme != "http" or api_url.startswith("https:")):
        raise AnswerError("The service redirects to an unsafe address.")
