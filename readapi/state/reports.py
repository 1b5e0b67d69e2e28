"""Reports of accounts and records, until the operator closes them and after."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.state.db.database import Database
from readapi.state.db.tables import reports
from readapi.state.numbered_rows import Row, TooBusy, add_row
from schemas.reports import MOST_OPEN, MOST_OPEN_IN_ALL


class TooManyReports(Exception):
    """The account, or everyone together, has too many open reports; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class NewReport:
    """What is reported, and by whom: a DID, or a network, as `State.name_network` names it.

    `subject_cid`: the version of the record that was seen.
    """

    subject: str
    subject_cid: str | None
    reason_type: str
    reason: str
    reported_by: str


@dataclass(frozen=True, slots=True)
class Report(NewReport):
    """A report that was received. `number` counts from 1."""

    number: int
    created_at: datetime
    closed_at: datetime | None = None
    closed_by: str | None = None
    note: str | None = None


class Reports:
    """The table `reports`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, new: NewReport, most: int = MOST_OPEN) -> Report:
        """Add a report; the same one again, while it is open, is the first. Raises TooManyReports.

        `most`: open ones of the same reporter.
        """
        try:
            return Report(**await add_row(self._database, reports, lambda found: self._row(found, new, most)))
        except _SameReport as same:
            return same.report
        except TooBusy:
            raise TooManyReports("Too many reports are being sent at the moment; try again.") from None

    async def list_open(self, most: int, about: str = "") -> list[Report]:
        """The open reports whose subject has a text in it, the oldest first."""
        open_ones = select(reports).where(reports.c.closed_at.is_(None)).order_by(reports.c.number)
        if about:
            open_ones = open_ones.where(reports.c.subject.contains(about, autoescape=True))
        async with self._database.reading() as connection:
            return [Report(**row) for row in (await connection.execute(open_ones.limit(most))).mappings()]

    async def count(self) -> tuple[int, int]:
        """How many reports there were, and how many of them are closed."""
        counts = select(func.count(), func.count(reports.c.closed_at)).select_from(reports)
        async with self._database.reading() as connection:
            received, closed = (await connection.execute(counts)).one()
        return int(received), int(closed)

    async def close(self, number: int, note: str, closed_by: str) -> bool:
        """Close a report; False if there is no open one of this number."""
        change = (
            update(reports)
            .where(reports.c.number == number, reports.c.closed_at.is_(None))
            .values(closed_at=self._database.now(), closed_by=closed_by, note=note)
        )
        async with self._database.writing() as connection:
            return (await connection.execute(change)).rowcount == 1

    async def _row(self, connection: AsyncConnection, new: NewReport, most: int) -> Row:
        open_ones = select(reports).where(reports.c.closed_at.is_(None))
        by_same = await connection.execute(open_ones.where(reports.c.reported_by == new.reported_by))
        mine = [Report(**row) for row in by_same.mappings()]
        for report in mine:
            if (report.subject, report.reason_type) == (new.subject, new.reason_type):
                raise _SameReport(report)
        if len(mine) >= most:
            raise TooManyReports(f"You have {most} reports that are not answered yet.")
        in_all = select(func.count()).select_from(open_ones.subquery())
        if (await connection.execute(in_all)).scalar_one() >= MOST_OPEN_IN_ALL:
            raise TooManyReports("The operator has too many reports to answer; write to the contact instead.")
        return {
            "subject": new.subject,
            "subject_cid": new.subject_cid,
            "reason_type": new.reason_type,
            "reason": new.reason,
            "reported_by": new.reported_by,
            "created_at": self._database.now(),
        }


class _SameReport(Exception):
    """The account has reported the same, and the report is open."""

    def __init__(self, report: Report) -> None:
        super().__init__(report.number)
        self.report = report
