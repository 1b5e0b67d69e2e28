"""Who sent the message that is being answered, and the way of its requests to the API.

Requests go through the client's request layer: one address, no redirects, bounded answers, refusals as
FmsvcError.
"""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Self

import httpx2

from fmsvc import __version__
from fmsvc._async.http import Http
from fmsvc.answers import Model, parse_model
from fmsvc.errors import NotAuthenticatedError

TIMEOUT_SECONDS = 30.0
Value = str | int | None  # of a query parameter; None leaves it out
Connect = Callable[[Any], "CallerApi"]  # the HTTP request that a message came with, or None -> its sender


@dataclass(frozen=True, slots=True)
class CallerApi:
    """The API, asked as the sender of a message.

    `address`: the service's public one, which links to pages begin with. `how_to_sign_in`: a sentence for
    models whose caller has no token.
    """

    http: Http
    address: str
    how_to_sign_in: str
    has_token: bool

    @classmethod
    def of(
        cls,
        *,
        token: str | None,
        api_url: str,
        address: str | None = None,
        how_to_sign_in: str = "",
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> Self:
        """Requests go to `api_url`, as the account of the token and no other. Raises ConfigurationError.

        Nothing is retried: an error tells the model when to call again.
        """
        http = Http(
            token=token or "",  # None would look for a token of this process
            api_url=api_url,
            timeout=TIMEOUT_SECONDS,
            user_agent=f"fmsvc-mcp/{__version__}",
            transport=transport,
            max_retries=0,
        )
        return cls(http, address or http.api_url, how_to_sign_in, bool(token))

    async def get(self, model: type[Model], *path: object, **query: Value) -> Model:
        """An answer in a shape for models. `path`: its segments, escaped by the client. Raises FmsvcError."""
        return self.read(model, await self.http.ask("GET", *path, query=query))

    def read(self, model: type[Model], found: object) -> Model:
        """JSON of the API in a shape for models. Raises AnswerError."""
        return parse_model(model, found, {"address": self.address})

    def need_token(self) -> None:
        """Refuse a caller without a token, without a request. Raises NotAuthenticatedError."""
        if not self.has_token:
            raise NotAuthenticatedError(
                "This needs the user's account.", status=401, code="not_authenticated"
            )

    async def close(self) -> None:
        """Close the connections."""
        await self.http.close()


CALLER: ContextVar[CallerApi] = ContextVar("the API for the sender of the message that is being answered")


def caller() -> CallerApi:
    """The API, for the sender of the message that called the running tool."""
    return CALLER.get()
