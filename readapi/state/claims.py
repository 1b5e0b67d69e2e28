"""Rows that wait for work: claimed by one process for a while, and free again when it falls silent."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Select, Table, exists, func, literal, or_, select, update

from readapi.state.database import Database
from readapi.state.tables import Instant

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


@dataclass(frozen=True, slots=True)
class Attempt:
    """One more try at what is next of a row. `number`: from 1; `since`: when the first of them began."""

    number: int
    since: datetime


class TakenOver(Exception):
    """Somebody else has the row; whatever we know of it is out of date."""


class Claims:
    """Of several that would claim the same row, one gets it."""

    def __init__(self, database: Database, table: Table) -> None:
        self._database = database
        self._table = table

    async def claim(self, claimant: Claimant) -> str | None:
        """The id of the row whose turn it is, now the claimant's; None when nothing waits.

        Of each account one is worked at at a time. Whoever was served longest ago is next, and of theirs what
        has waited longest. The try counts from here on, however it ends.
        """
        table, now = self._table, self._database.now()
        next_one, waiting = self._next(now), self._waiting(now)
        since = func.coalesce(table.c.tried_since, literal(now, Instant))
        tried = {"tries": table.c.tries + 1, "tried_since": since}
        claim = {"claimed_by": claimant.name, "claimed_until": now + claimant.patience, **tried}
        taking = update(table).where(table.c.id == next_one.scalar_subquery(), waiting)
        async with self._database.reading() as connection:
            if (await connection.execute(next_one)).one_or_none() is None:
                return None
        async with self._database.writing() as connection:
            taken = await connection.execute(
                taking.values(status="processing", **claim).returning(table.c.id)
            )
            row_id: str | None = taken.scalar_one_or_none()
            return row_id

    async def attempt(self, row_id: str) -> Attempt:
        """Which try at a claimed row this is."""
        found = select(self._table.c.tries, self._table.c.tried_since).where(self._table.c.id == row_id)
        async with self._database.reading() as connection:
            return Attempt(*(await connection.execute(found)).one())

    async def renew(self, row_id: str, claimant: Claimant) -> bool:
        """Claim it for as long again; False when somebody else has it."""
        until = self._database.now() + claimant.patience
        change = update(self._table).where(self._claimed(row_id, claimant)).values(claimed_until=until)
        async with self._database.writing() as connection:
            return (await connection.execute(change)).rowcount == 1

    async def check(self, row_id: str, claimant: Claimant) -> None:
        """Raises TakenOver when somebody else has it."""
        if not await self.renew(row_id, claimant):
            raise TakenOver

    async def give_back(
        self, row_id: str, claimant: Claimant, after: timedelta = timedelta(0), *, is_counted: bool = False
    ) -> None:
        """Let somebody else go on with it, after a while. `is_counted`: the try failed through the work."""
        change = update(self._table).where(self._claimed(row_id, claimant))
        free = {"claimed_by": None, "claimed_until": self._database.now() + after}
        tries = self._table.c.tries if is_counted else self._table.c.tries - 1
        async with self._database.writing() as connection:
            await connection.execute(change.values(tries=tries, **free))

    def held(self, row_id: str, claimant: Claimant) -> ColumnElement[bool]:
        """True of the row while the claimant has it, and it is not settled."""
        return self._claimed(row_id, claimant) & self._table.c.status.in_(UNFINISHED)

    def _next(self, now: datetime) -> Select[tuple[str]]:
        """When a row is let go, `claimed_until` says when that was: so it tells whom we served last."""
        table, other = self._table, self._table.alias("other")
        of_account = other.c.did == table.c.did
        at_work = other.c.status.in_(UNFINISHED) & other.c.claimed_by.is_not(None)
        is_busy = exists().where(of_account, at_work, other.c.claimed_until > now)
        served = select(func.max(other.c.claimed_until)).where(of_account).scalar_subquery()
        found = select(table.c.id).where(self._waiting(now), ~is_busy)
        return found.order_by(served.nulls_first(), table.c.created_at, table.c.id).limit(1)

    def _waiting(self, now: datetime) -> ColumnElement[bool]:
        until = self._table.c.claimed_until
        return self._table.c.status.in_(UNFINISHED) & or_(until.is_(None), until <= now)

    def _claimed(self, row_id: str, claimant: Claimant) -> ColumnElement[bool]:
        return (self._table.c.id == row_id) & (self._table.c.claimed_by == claimant.name)
