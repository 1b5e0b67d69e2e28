"""Exchange tokens: what a callback hands out, to be changed within a minute for a session or a token."""

from dataclasses import dataclass
from datetime import timedelta

from pydantic import TypeAdapter

from readapi.state.database import Database
from readapi.state.errand import Errand
from readapi.state.grants import GrantId
from readapi.state.passing import Passing
from readapi.state.secret import new_secret
from readapi.state.tables import exchanges
from readapi.state.vault import Vault
from schemas.ids import Did, Handle

LIFE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Arrival:
    """Who came back from their server, with which grant, and what for."""

    did: Did
    handle: Handle
    grant_id: GrantId
    errand: Errand


_ARRIVAL = TypeAdapter(Arrival)


class Exchanges:
    """Each token can be changed once, however many try at the same time."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self._passing = Passing(database, vault, exchanges, LIFE, _ARRIVAL)

    async def put(self, arrival: Arrival) -> str:
        """Keep it for a minute; returns the token that takes it."""
        token = new_secret()
        await self._passing.put(token, arrival)
        return token

    async def find(self, token: str) -> Arrival | None:
        """What the token stands for, which is not used up by this."""
        return await self._passing.find(token)

    async def take(self, token: str) -> Arrival | None:
        """What the token stands for; None when it is unknown, used or too old."""
        return await self._passing.take(token)
