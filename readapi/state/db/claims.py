"""Claims on rows that wait for work: held by one process for a limited time unless renewed."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Select,
    Table,
    bindparam,
    exists,
    func,
    literal,
    or_,
    select,
    update,
)

from readapi.state.db.database import Database
from readapi.state.db.tables import Instant

UNFINISHED = ("pending", "processing")


@dataclass(frozen=True, slots=True)
class Claimant:
    """The holder of a claim, and how long it may go without renewal before another takes over.

    `name`: unique to one claim, so that a holder that lost it cannot mistake a later one for it.
    """

    name: str
    patience: timedelta

    def anew(self) -> "Claimant":
        """The claimant for another claim of the same process."""
        return Claimant(f"{self.name.partition('/')[0]}/{uuid.uuid4().hex}", self.patience)


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt at a row's next step. `number`: from 1; `since`: when the first attempt began."""

    number: int
    since: datetime


class TakenOver(Exception):
    """Another process has claimed the row; what this one knows of it is out of date."""


class Claims:
    """Claims on the rows of one table; each row has one holder at a time."""

    def __init__(self, database: Database, table: Table) -> None:
        self._database = database
        self._table = table

    async def claim(self, claimant: Claimant) -> str | None:
        """Claim the next row and return its id; None when no row waits.

        At most one row per account is claimed at a time. Next is the account that was served longest ago, and
        its oldest row. The attempt counts from here on, however it ends.
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
        """The current attempt at a claimed row."""
        found = select(self._table.c.tries, self._table.c.tried_since).where(self._table.c.id == row_id)
        async with self._database.reading() as connection:
            return Attempt(*(await connection.execute(found)).one())

    async def renew(self, row_id: str, claimant: Claimant) -> bool:
        """Extend the claim; False when another process has it."""
        until = self._database.now() + claimant.patience
        change = update(self._table).where(self._claimed(row_id, claimant)).values(claimed_until=until)
        async with self._database.writing() as connection:
            return (await connection.execute(change)).rowcount == 1

    async def check(self, row_id: str, claimant: Claimant) -> None:
        """Raises TakenOver when another process has the row."""
        if not await self.renew(row_id, claimant):
            raise TakenOver

    async def give_back(
        self, row_id: str, claimant: Claimant, after: timedelta = timedelta(0), *, is_counted: bool = False
    ) -> None:
        """Release the claim, for a retry after `after`. `is_counted`: the attempt failed through the work."""
        change = update(self._table).where(self._claimed(row_id, claimant))
        free = {"claimed_by": None, "claimed_until": self._database.now() + after}
        tries = self._table.c.tries if is_counted else self._table.c.tries - 1
        async with self._database.writing() as connection:
            await connection.execute(change.values(tries=tries, **free))

    def held(self, row_id: str, claimant: Claimant) -> ColumnElement[bool]:
        """SQL: the row is held by the claimant and not settled."""
        return self._claimed(row_id, claimant) & self._table.c.status.in_(UNFINISHED)

    def is_waiting(self, now: BindParameter[datetime]) -> ColumnElement[bool]:
        """SQL: some row waits, though perhaps behind another one of its account."""
        return exists().where(self._waiting(now))

    def _next(self, now: datetime) -> Select[tuple[str]]:
        """The next row. A release sets `claimed_until` to its time, so it tells which account was last."""
        table, other = self._table, self._table.alias("other")
        of_account = other.c.did == table.c.did
        at_work = other.c.status.in_(UNFINISHED) & other.c.claimed_by.is_not(None)
        is_busy = exists().where(of_account, at_work, other.c.claimed_until > now)
        served = select(func.max(other.c.claimed_until)).where(of_account).scalar_subquery()
        found = select(table.c.id).where(self._waiting(now), ~is_busy)
        return found.order_by(served.nulls_first(), table.c.created_at, table.c.id).limit(1)

    def _waiting(self, now: datetime | BindParameter[datetime]) -> ColumnElement[bool]:
        until = self._table.c.claimed_until
        return self._table.c.status.in_(UNFINISHED) & or_(until.is_(None), until <= now)

    def _claimed(self, row_id: str, claimant: Claimant) -> ColumnElement[bool]:
        return (self._table.c.id == row_id) & (self._table.c.claimed_by == claimant.name)


class WaitingRows:
    """Whether a row of any of several tables waits, in one query: what an idle process asks again and again.

    The statement is made once, since making it costs more than running it.
    """

    def __init__(self, database: Database, *claims: Claims) -> None:
        self._database = database
        now: BindParameter[datetime] = bindparam("now", type_=Instant)
        self._found = select(or_(*(of_table.is_waiting(now) for of_table in claims)))

    async def exist(self) -> bool:
        """True also for a row behind another one of its account, which cannot be claimed yet."""
        async with self._database.reading() as connection:
            found = await connection.execute(self._found, {"now": self._database.now()})
            return bool(found.scalar_one())
