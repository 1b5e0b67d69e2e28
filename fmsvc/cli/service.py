"""The service that a command asks, and as which account."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from cyclopts import Parameter

from fmsvc.errors import ConfigurationError, FmsvcError, NotAuthenticatedError
from fmsvc.tokens import find_token

if TYPE_CHECKING:
    from fmsvc import AsyncClient, Client


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Service:
    """Where a command's requests go."""

    api_url: Annotated[
        str | None, Parameter(name="--api-url", help="The service; else FMSVC_API_URL, or FMSVC_URL.")
    ] = None

    @property
    def address(self) -> str:
        """Without a slash at its end. Raises FmsvcError."""
        from fmsvc.addresses import find_api_url  # late, as it imports the HTTP client

        try:
            address = find_api_url(self.api_url)
        except ConfigurationError as error:
            message = error.message.replace("give api_url=", "give --api-url")
            raise FmsvcError(message, code="usage") from error
        if not is_web_address(address):
            raise FmsvcError("The service's address must begin with https:// or http://.", code="usage")
        return address

    def open(self) -> "Client":
        """A client with the account's token, where there is one. Raises FmsvcError."""
        from fmsvc import Client

        return Client(api_url=self.address)

    def open_signed_in(self) -> "Client":
        """A client with the account's token. Raises NotAuthenticatedError when there is none."""
        from fmsvc import Client

        return Client(api_url=self.address, token=self.token())

    def open_async(self, token: str | None = None) -> "AsyncClient":
        """A client for transfers at the same time, with this token or the account's, where there is one."""
        from fmsvc import AsyncClient

        return AsyncClient(api_url=self.address, token=token)

    def token(self) -> str:
        """The account's token. Raises NotAuthenticatedError when there is none."""
        token = find_token(self.address)
        if not token:
            raise NotAuthenticatedError("Not signed in: run fmsvc login, or set FMSVC_TOKEN.", status=401)
        return token


THE_SERVICE = Service()


def is_web_address(address: str) -> bool:
    """Is this an http or https URL of printable ASCII?"""
    if not address.isascii() or not address.isprintable() or " " in address:
        return False
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
