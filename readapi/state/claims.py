"""Rows that wait for work: claimed by one process for a while, and free again when it falls silent."""

import uuid
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import ColumnElement, Table, or_, select, update

from readapi.state.database import Database

UNFINISHED = ("pending", "processing")


@dataclass(frozen=True, slots=True)
class Claimant:
    """Who claims, and how long they may be silent before somebody else takes over.

    `name`: of one claim only, so that whoever lost it cannot take a later one of theirs for it.
    """

    name: str
    patience: timedelta

    def anew(self) -> "Claimant":
        """For another claim of the same process."""
        return Claimant(f"{self.name.partition('/')[0]}/{uuid.uuid4().hex}", self.patience)


class TakenOver(Exception):
    """Somebody else has the row; whatever we know of it is out of date."""


class Claims:
    """Of several that would claim the same row, one gets it."""

    def __init__(self, database: Database, table: Table) -> None:
        self._database = database
        self._table = table

    async def claim(self, claimant: Claimant) -> str | None:
        """The id of the row that has waited longest, now the claimant's; None when nothing waits."""
        table, now = self._table, self._database.now()
        free = or_(table.c.claimed_until.is_(None), table.c.claimed_until <= now)
        waiting = (table.c.status.in_(UNFINISHED)) & free
        oldest = select(table.c.id).where(waiting).order_by(table.c.created_at, table.c.id).limit(1)
        claim = {"claimed_by": claimant.name, "claimed_until": now + claimant.patience}
        taking = update(table).where(table.c.id == oldest.scalar_subquery(), waiting)
        async with self._database.reading() as connection:
            if (await connection.execute(oldest)).one_or_none() is None:
                return None
        async with self._database.writing() as connection:
            taken = await connection.execute(
                taking.values(status="processing", **claim).returning(table.c.id)
            )
            row_id: str | None = taken.scalar_one_or_none()
            return row_id

    async def renew(self, row_id: str, claimant: Claimant) -> bool:
        """Claim it for as long again; False when somebody else has it."""
        until = self._database.now() + claimant.patience
        change = update(self._table).where(self._claimed(row_id, claimant)).values(claimed_until=until)
        async with self._database.writing() as connection:
            return (await connection.execute(change)).rowcount == 1

    async def give_back(self, row_id: str, claimant: Claimant, after: timedelta = timedelta(0)) -> None:
        """Let somebody else go on with it, after a while."""
        change = update(self._table).where(self._claimed(row_id, claimant))
        free = {"claimed_by": None, "claimed_until": self._database.now() + after}
        async with self._database.writing() as connection:
            await connection.execute(change.values(free))

    def held(self, row_id: str, claimant: Claimant) -> ColumnElement[bool]:
        """True of the row while the claimant has it, and it is not settled."""
        return self._claimed(row_id, claimant) & self._table.c.status.in_(UNFINISHED)

    def _claimed(self, row_id: str, claimant: Claimant) -> ColumnElement[bool]:
        return (self._table.c.id == row_id) & (self._table.c.claimed_by == claimant.name)
