"""Authorizations under way: what must be known when the person comes back from their server."""

from dataclasses import dataclass
from datetime import timedelta

from pydantic import TypeAdapter

from readapi.oauth.grant import Flight
from readapi.state.database import Database
from readapi.state.errand import Errand
from readapi.state.passing import Passing
from readapi.state.tables import flights
from readapi.state.vault import Vault

LIFE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Departure:
    """Who left for which server, and what for."""

    flight: Flight
    errand: Errand


_DEPARTURE = TypeAdapter(Departure)


class Flights:
    """Put when somebody leaves, taken once when they return."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self._passing = Passing(database, vault, flights, LIFE, _DEPARTURE)

    async def put(self, departure: Departure) -> None:
        """Keep it under its flight's `state` for ten minutes."""
        await self._passing.put(departure.flight.state, departure)

    async def take(self, state: str) -> Departure | None:
        """What was put under this `state`; None when nothing was, or it was taken, or is too old."""
        return await self._passing.take(state)
