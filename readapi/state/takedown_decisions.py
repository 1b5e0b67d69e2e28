"""The log of the operator's takedowns: decisions are added, and never changed or deleted."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.state.db.database import Database
from readapi.state.db.tables import takedown_decisions
from readapi.state.numbered_rows import Row, TooBusy, add_row, read_latest, read_rows
from schemas.takedowns import Action


class NotDecided(Exception):
    """A decision would change nothing; the message is a sentence for the operator."""


class AlreadyDecided(NotDecided):
    """The subject is taken down already, or is not."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One entry of the log. `number` counts from 1, without gaps, in the order in which decisions commit."""

    number: int
    subject: str
    action: Action
    reason: str
    decided_by: str
    decided_at: datetime


class TakedownDecisions:
    """The table `takedown_decisions`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def decide(self, subject: str, action: Action, reason: str, decided_by: str) -> Decision:
        """Add a decision about a subject, as `schemas.takedowns.read_subject` gives it. Raises NotDecided."""

        async def make(connection: AsyncConnection) -> Row:
            await _check_change(connection, subject, action)
            return {
                "subject": subject,
                "action": action,
                "reason": reason,
                "decided_by": decided_by,
                "decided_at": self._database.now(),
            }

        try:
            return Decision(**await add_row(self._database, takedown_decisions, make))
        except TooBusy:
            raise NotDecided("Other decisions are being added all the time; try again.") from None

    async def log(self) -> AsyncIterator[Decision]:
        """Yield all decisions, the first one first."""
        async for row in read_rows(self._database, takedown_decisions):
            yield Decision(**row)

    async def latest(self, most: int) -> list[Decision]:
        """The latest decisions, the earliest of them first."""
        return [Decision(**row) for row in await read_latest(self._database, takedown_decisions, most)]


async def _check_change(connection: AsyncConnection, subject: str, action: Action) -> None:
    columns = takedown_decisions.c
    about_it = select(columns.action).where(columns.subject == subject).order_by(columns.number.desc())
    last = (await connection.execute(about_it.limit(1))).scalar_one_or_none()
    if (last == "takedown") == (action == "takedown"):
        raise AlreadyDecided(f"{subject} is {'already' if last == 'takedown' else 'not'} taken down.")
