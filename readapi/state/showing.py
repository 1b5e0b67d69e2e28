"""What people show on their profiles, where they chose something else than what goes without saying."""

import asyncio
from collections.abc import Collection

from sqlalchemy import delete, select

from readapi.state.database import Database
from readapi.state.tables import shown_on_profile


class Showing:
    """Choices by the at-uri of what is shown: a playlist, or the profile for what its owner likes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._wanted: set[str] = set()
        self._next: asyncio.Task[dict[str, bool]] | None = None
        self._turn = asyncio.Lock()

    async def of(self, subject: str) -> bool | None:
        """What somebody chose for this; None: nothing. A query answers all who ask during the one before."""
        self._wanted.add(subject)
        if self._next is None:
            self._next = asyncio.create_task(self._of_wanted())
        # Shielded: others wait for the same query when one client hangs up.
        return (await asyncio.shield(self._next)).get(subject)

    async def among(self, subjects: Collection[str]) -> dict[str, bool]:
        """Of these, whatever somebody chose something for."""
        if not subjects:
            return {}
        found = select(shown_on_profile).where(shown_on_profile.c.subject.in_(subjects))
        async with self._database.reading() as connection:
            return {row.subject: row.shown for row in await connection.execute(found)}

    async def choose(self, subject: str, shown: bool | None) -> None:
        """Show it or not; None: forget that anything was chosen."""
        async with self._database.writing() as connection:
            await connection.execute(delete(shown_on_profile).where(shown_on_profile.c.subject == subject))
            if shown is not None:
                await connection.execute(shown_on_profile.insert().values(subject=subject, shown=shown))

    async def _of_wanted(self) -> dict[str, bool]:
        async with self._turn:
            # Whoever asks from now on may ask for what is being changed: that is for the next query.
            wanted, self._wanted, self._next = self._wanted, set(), None
            return await self.among(wanted)
