"""Exchange tokens: issued by the callback, exchanged within a minute for a session or developer token."""

from dataclasses import dataclass
from datetime import timedelta

from pydantic import TypeAdapter

from readapi.state.db.database import Database
from readapi.state.db.encryption import Encryption
from readapi.state.db.one_time import OneTimeStore, new_secret
from readapi.state.db.tables import exchanges
from readapi.state.sign_in.authorization_requests import AuthorizationPurpose
from readapi.state.sign_in.grants import GrantId
from schemas.ids import Did, Handle

LIFE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class ExchangeToken:
    """The account, its new grant, and the purpose of the authorization."""

    did: Did
    handle: Handle
    grant_id: GrantId
    purpose: AuthorizationPurpose


_ARRIVAL = TypeAdapter(ExchangeToken)


class ExchangeTokens:
    """Each token can be exchanged once, also under concurrency."""

    def __init__(self, database: Database, vault: Encryption) -> None:
        self._passing = OneTimeStore(database, vault, exchanges, LIFE, _ARRIVAL)

    async def put(self, exchange: ExchangeToken) -> str:
        """Store it for a minute; returns the token."""
        token = new_secret()
        await self._passing.put(token, exchange)
        return token

    async def find(self, token: str) -> ExchangeToken | None:
        """The token's content, without taking it."""
        return await self._passing.find(token)

    async def take(self, token: str) -> ExchangeToken | None:
        """Take the token's content; None when it is unknown, used or expired."""
        return await self._passing.take(token)
