"""Notices of infringement and counter-notices, and the log of what the operator decided about them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.state.db.database import Database
from readapi.state.db.tables import notice_decisions, notices
from readapi.state.numbered_rows import Row, TooBusy, add_row, read_latest
from schemas.ids import Did
from schemas.notices import COUNTERED_FROM, DECISIONS, MOST_OPEN_IN_ALL, OPEN, State


class TooManyNotices(Exception):
    """The sender, or all senders together, have too many undecided notices; the message is a sentence."""


class NotDecided(Exception):
    """The notice is in no state that allows this; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Statement:
    """Who states something, how to reach them, and what they state."""

    name: str
    contact: str
    text: str


@dataclass(frozen=True, slots=True)
class NewNotice:
    """What is claimed to infringe. `did`: of the account that it concerns. `sent_by`: a DID or network."""

    subject: str
    did: Did
    claim: Statement
    sent_by: str


@dataclass(frozen=True, slots=True)
class Notice(NewNotice):
    """A notice that was received. `number` counts from 1."""

    number: int
    state: State
    created_at: datetime
    changed_at: datetime
    counter: Statement | None


@dataclass(frozen=True, slots=True)
class NoticeDecision:
    """One entry of the log of decisions about notices."""

    number: int
    notice: int
    subject: str
    state: State
    note: str
    decided_by: str
    decided_at: datetime


class Notices:
    """The tables `notices` and `notice_decisions`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, new: NewNotice, most: int) -> Notice:
        """Add a notice. `most`: open ones by the same sender. Raises TooManyNotices."""

        async def make(connection: AsyncConnection) -> Row:
            await _require_room(connection, new.sent_by, most)
            now = self._database.now()
            return {
                "subject": new.subject,
                "did": new.did,
                "name": new.claim.name,
                "contact": new.claim.contact,
                "text": new.claim.text,
                "sent_by": new.sent_by,
                "state": "received",
                "created_at": now,
                "changed_at": now,
            }

        try:
            row = await add_row(self._database, notices, make)
        except TooBusy:
            raise TooManyNotices("Too many notices are being sent at the moment; try again.") from None
        return _present({"counter_name": None, **row})

    async def find(self, number: int) -> Notice | None:
        """One notice."""
        async with self._database.reading() as connection:
            found = await connection.execute(select(notices).where(notices.c.number == number))
            row = found.mappings().one_or_none()
        return None if row is None else _present(row)

    async def list_notices(self, most: int, *, only_open: bool = True) -> list[Notice]:
        """Notices, the oldest first: those that wait for a decision, or all."""
        found = select(notices).order_by(notices.c.number).limit(most)
        if only_open:
            found = found.where(notices.c.state.in_(OPEN))
        async with self._database.reading() as connection:
            return [_present(row) for row in (await connection.execute(found)).mappings()]

    async def count(self) -> dict[str, int]:
        """How many notices are in each state."""
        counts = select(notices.c.state, func.count()).group_by(notices.c.state)
        async with self._database.reading() as connection:
            return {state: int(count) for state, count in await connection.execute(counts)}

    async def counter(self, number: int, did: Did, statement: Statement) -> None:
        """Store the counter-notice of the account that a notice concerns. Raises NotDecided."""
        which = (notices.c.number == number) & (notices.c.did == did) & (notices.c.state == COUNTERED_FROM)
        change = update(notices).where(which)
        columns = {
            "state": "counter_noticed",
            "counter_name": statement.name,
            "counter_contact": statement.contact,
            "counter_text": statement.text,
            "changed_at": self._database.now(),
        }
        async with self._database.writing() as connection:
            if (await connection.execute(change.values(columns))).rowcount != 1:
                raise NotDecided("This notice cannot be answered now.")

    async def decide(self, number: int, state: State, note: str, decided_by: str) -> NoticeDecision:
        """Change a notice's state, and log it, in one transaction. Raises NotDecided."""
        allowed = [before for before, following in DECISIONS.items() if state in following]

        async def make(connection: AsyncConnection) -> Row:
            now = self._database.now()
            which = (notices.c.number == number) & notices.c.state.in_(allowed)
            change = update(notices).where(which).values(state=state, changed_at=now)
            subject = (await connection.execute(change.returning(notices.c.subject))).scalar_one_or_none()
            if subject is None:
                raise NotDecided(f"Notice {number} is in no state in which it can become {state}.")
            return {
                "notice": number,
                "subject": subject,
                "state": state,
                "note": note,
                "decided_by": decided_by,
                "decided_at": now,
            }

        try:
            return NoticeDecision(**await add_row(self._database, notice_decisions, make))
        except TooBusy:
            raise NotDecided("Other decisions are being added all the time; try again.") from None

    async def latest_decisions(self, most: int) -> list[NoticeDecision]:
        """The latest decisions, the earliest of them first."""
        return [NoticeDecision(**row) for row in await read_latest(self._database, notice_decisions, most)]


async def _require_room(connection: AsyncConnection, sent_by: str, most: int) -> None:
    mine = func.count().filter(notices.c.sent_by == sent_by)
    counts = select(mine, func.count()).select_from(notices).where(notices.c.state.in_(OPEN))
    own, all_ = (await connection.execute(counts)).one()
    if own >= most:
        raise TooManyNotices(f"{most} notices from here are not decided yet.")
    if all_ >= MOST_OPEN_IN_ALL:
        raise TooManyNotices("The operator has too many notices to answer; write to the contact instead.")


def _present(row: Any) -> Notice:
    counter = None
    if row["counter_name"] is not None:
        counter = Statement(row["counter_name"], row["counter_contact"], row["counter_text"])
    return Notice(
        subject=row["subject"],
        did=Did(row["did"]),
        claim=Statement(row["name"], row["contact"], row["text"]),
        sent_by=row["sent_by"],
        number=row["number"],
        state=row["state"],
        created_at=row["created_at"],
        changed_at=row["changed_at"],
        counter=counter,
    )
