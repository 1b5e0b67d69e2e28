"""The log of the operator's labels: decisions are added, and never changed or deleted."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.state.db.database import Database
from readapi.state.db.tables import label_decisions
from readapi.state.numbered_rows import Row, TooBusy, add_row, read_latest, read_rows
from readapi.state.takedown_decisions import NotDecided
from schemas.labels import MOST_OF_THE_OPERATOR


@dataclass(frozen=True, slots=True)
class NewLabel:
    """What is decided: a label, or the negation of one, which overrules labelers too."""

    subject: str
    value: str
    negated: bool
    expires_at: datetime | None
    reason: str
    decided_by: str


@dataclass(frozen=True, slots=True)
class LabelDecision(NewLabel):
    """One entry of the log. `number` counts from 1, without gaps, in the order in which decisions commit."""

    number: int
    decided_at: datetime


class LabelDecisions:
    """The table `label_decisions`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def decide(self, new: NewLabel) -> LabelDecision:
        """Add a decision. Raises NotDecided."""
        try:
            return LabelDecision(
                **await add_row(
                    self._database, label_decisions, lambda connection: self._row(connection, new)
                )
            )
        except TooBusy:
            raise NotDecided("Other decisions are being added all the time; try again.") from None

    async def log(self) -> AsyncIterator[LabelDecision]:
        """Yield all decisions, the first one first."""
        async for row in read_rows(self._database, label_decisions):
            yield LabelDecision(**row)

    async def latest(self, most: int) -> list[LabelDecision]:
        """The latest decisions, the earliest of them first."""
        return [LabelDecision(**row) for row in await read_latest(self._database, label_decisions, most)]

    async def _row(self, connection: AsyncConnection, new: NewLabel) -> Row:
        columns = label_decisions.c
        same = select(columns.negated, columns.expires_at).where(
            columns.subject == new.subject, columns.value == new.value
        )
        last = (await connection.execute(same.order_by(columns.number.desc()).limit(1))).one_or_none()
        if last is not None and tuple(last) == (new.negated, new.expires_at):
            raise NotDecided(
                f"{new.subject} has {'no ' if new.negated else 'the '}label {new.value} already."
            )
        if last is None:
            subjects = select(columns.subject, columns.value).distinct().subquery()
            held = (await connection.execute(select(func.count()).select_from(subjects))).scalar_one()
            if held >= MOST_OF_THE_OPERATOR:
                raise NotDecided(
                    f"There are {MOST_OF_THE_OPERATOR:,} labels of the operator, the most there may be."
                )
        return {
            "subject": new.subject,
            "value": new.value,
            "negated": new.negated,
            "expires_at": new.expires_at,
            "reason": new.reason,
            "decided_by": new.decided_by,
            "decided_at": self._database.now(),
        }
