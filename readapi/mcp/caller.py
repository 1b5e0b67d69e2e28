"""Who sent a message to `/mcp`: what its tools may say of the requester to the API, and nothing else."""

import re
from dataclasses import dataclass, field
from typing import Final, Self

from readapi.http.request.request import Request

CALLER: Final = "fmsvc.caller"  # the key in the ASGI scope
_BEARER = re.compile(r"bearer +(\S+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Caller:
    """The client that limits count, and the bearer token that came with the message, if any."""

    client: str
    token: str | None = field(repr=False)

    @classmethod
    def of(cls, request: Request) -> Self:
        """Read a request that the gate has let through."""
        sent = _BEARER.fullmatch(request.headers.get("Authorization", ""))
        return cls(request.client, None if sent is None else sent[1])
