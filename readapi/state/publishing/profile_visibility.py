"""Profile sections whose visibility differs from the default."""

import asyncio
from collections.abc import Collection

from sqlalchemy import delete, select

from readapi.state.db.database import Database
from readapi.state.db.tables import shown_on_profile


class ProfileVisibility:
    """Choices by at-uri: of a playlist, or of the profile for the section of likes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._wanted: set[str] = set()
        self._next: asyncio.Task[dict[str, bool]] | None = None
        self._turn = asyncio.Lock()

    async def of(self, subject: str) -> bool | None:
        """The choice for a subject, None by default. Calls during a query are batched into the next one."""
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

    async def _of_wanted(self) -> dict[str, bool]:
        async with self._turn:
            # Later calls belong to the next query: a choice may change after this one began.
            wanted, self._wanted, self._next = self._wanted, set(), None
            return await self.among(wanted)
