"""The log of the operator's takedowns: decisions are added, and never changed or deleted."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.state.db.database import Database
from readapi.state.db.tables import takedown_decisions
from schemas.takedowns import Action

_TRIES: Final = 20  # of numbers that another process may take at the same time
_PAGE: Final = 1_000


class NotDecided(Exception):
    """A decision would change nothing; the message is a sentence for the operator."""


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
        for _ in range(_TRIES):
            try:
                async with self._database.writing() as connection:
                    return await self._add(connection, subject, action, reason, decided_by)
            except IntegrityError:  # another process has added this number
                continue
        raise NotDecided("Other decisions are being added all the time; try again.")

    async def log(self) -> AsyncIterator[Decision]:
        """Yield all decisions, the first one first."""
        last = 0
        columns = takedown_decisions.c
        while True:
            page = select(takedown_decisions).where(columns.number > last).order_by(columns.number)
            async with self._database.reading() as connection:
                rows = (await connection.execute(page.limit(_PAGE))).all()
            for row in rows:
                yield Decision(*row)
            if len(rows) < _PAGE:
                return
            last = rows[-1].number

    async def _add(
        self, connection: AsyncConnection, subject: str, action: Action, reason: str, decided_by: str
    ) -> Decision:
        columns = takedown_decisions.c
        about_it = select(columns.action).where(columns.subject == subject).order_by(columns.number.desc())
        last = (await connection.execute(about_it.limit(1))).scalar_one_or_none()
        if (last == "takedown") == (action == "takedown"):
            raise NotDecided(f"{subject} is {'already' if last == 'takedown' else 'not'} taken down.")
        newest = (await connection.execute(select(func.coalesce(func.max(columns.number), 0)))).scalar_one()
        decision = Decision(newest + 1, subject, action, reason, decided_by, self._database.now())
        await connection.execute(
            takedown_decisions.insert().values(
                number=decision.number,
                subject=subject,
                action=action,
                reason=reason,
                decided_by=decided_by,
                decided_at=decision.decided_at,
            )
        )
        return decision
