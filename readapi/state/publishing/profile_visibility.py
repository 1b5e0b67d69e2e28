"""Profile sections whose visibility differs from the default."""

import asyncio
import time
from collections.abc import Collection, Mapping
from typing import ClassVar, Final

from sqlalchemy import delete, select

from readapi.state.db.database import Database
from readapi.state.db.tables import shown_on_profile

MOST_KEPT: Final = 5000  # choices in memory: some 1 MB, read in a few milliseconds
_REREAD_SECONDS: Final = 1.0  # between two readings of all choices, however often the state changes
_TOO_MANY_SECONDS: Final = 60.0  # the same while there are more than MOST_KEPT


class ProfileVisibility:
    """Choices by at-uri: of a playlist, or of the profile for the section of likes.

    All choices are kept in memory for as long as nothing is committed to the state, by any process: so every
    choice takes effect with the next question. Where they are too many, or the state changes all the time, or
    is in PostgreSQL, questions are queries.
    """

    BESIDE_STORES: ClassVar = True  # answers that depend on it are not kept until the index changes

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: Mapping[str, bool] = {}
        self._kept_since: int | None = None  # the mark of the state in which `_kept` was read
        self._next_reading = 0.0
        self._wanted: set[str] = set()
        self._next: asyncio.Task[Mapping[str, bool]] | None = None
        self._turn = asyncio.Lock()

    async def of(self, subject: str) -> bool | None:
        """The choice for a subject, None by default. Calls during a query are batched into the next one."""
        if self._is_current(self._database.mark()):
            return self._kept.get(subject)
        self._wanted.add(subject)
        if self._next is None:
            self._next = asyncio.create_task(self._of_wanted())
        # Shielded: others wait for the same query when one client hangs up.
        return (await asyncio.shield(self._next)).get(subject)

    async def among(self, subjects: Collection[str]) -> dict[str, bool]:
        """The choices for those of these subjects that have one."""
        if not subjects:
            return {}
        found = select(shown_on_profile).where(shown_on_profile.c.subject.in_(subjects))
        async with self._database.reading() as connection:
            return {row.subject: row.shown for row in await connection.execute(found)}

    async def choose(self, subject: str, shown: bool | None) -> None:
        """Show or hide a subject; None returns to the default."""
        async with self._database.writing() as connection:
            await connection.execute(delete(shown_on_profile).where(shown_on_profile.c.subject == subject))
            if shown is not None:
                await connection.execute(shown_on_profile.insert().values(subject=subject, shown=shown))

    def _is_current(self, mark: int | None) -> bool:
        return mark is not None and mark == self._kept_since

    async def _of_wanted(self) -> Mapping[str, bool]:
        async with self._turn:
            # Later calls belong to the next query: a choice may change after this one began.
            wanted, self._wanted, self._next = self._wanted, set(), None
            mark = self._database.mark()
            if mark is not None and time.monotonic() >= self._next_reading:
                await self._read_all(mark)
            return self._kept if self._is_current(mark) else await self.among(wanted)

    async def _read_all(self, mark: int) -> None:
        """Keep all choices. `mark`: of the state before they are read."""
        async with self._database.reading() as connection:
            rows = (await connection.execute(select(shown_on_profile).limit(MOST_KEPT + 1))).all()
        fits = len(rows) <= MOST_KEPT
        self._kept = {row.subject: row.shown for row in rows} if fits else {}
        self._kept_since = mark if fits else None
        self._next_reading = time.monotonic() + (_REREAD_SECONDS if fits else _TOO_MANY_SECONDS)
