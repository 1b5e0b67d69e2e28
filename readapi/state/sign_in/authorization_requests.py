"""Authorization requests under way: stored from the redirect to a server until its callback."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from pydantic import TypeAdapter

from readapi.oauth.grant import PendingAuthorization
from readapi.state.db.database import Database
from readapi.state.db.encryption import Encryption
from readapi.state.db.one_time import OneTimeStore
from readapi.state.db.tables import flights

Purpose = Literal["sign_in", "scope_upgrade", "add_account", "developer_token"]


@dataclass(frozen=True, slots=True)
class AuthorizationPurpose:
    """What an authorization is for. `session_key`: of the session that began it, in hex, if any.

    `details` depend on the purpose: the name and life of a developer token, the page to return to.
    """

    kind: Purpose
    session_key: str | None = None
    details: Mapping[str, str | int] = field(default_factory=dict)


LIFE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """A pending authorization and its purpose."""

    flight: PendingAuthorization
    purpose: AuthorizationPurpose


_DEPARTURE = TypeAdapter(AuthorizationRequest)


class AuthorizationRequests:
    """Stored at the redirect, taken once at the callback."""

    def __init__(self, database: Database, vault: Encryption) -> None:
        self._passing = OneTimeStore(database, vault, flights, LIFE, _DEPARTURE)

    async def put(self, pending: AuthorizationRequest) -> None:
        """Store a request under its OAuth `state` for ten minutes."""
        await self._passing.put(pending.flight.state, pending)

    async def take(self, state: str) -> AuthorizationRequest | None:
        """Take the request of a `state`; None when it is unknown, taken or expired."""
        return await self._passing.take(state)
