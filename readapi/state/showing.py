"""What people show on their profiles, where they chose something else than what goes without saying."""

from collections.abc import Iterable

from sqlalchemy import delete, select

from readapi.state.database import Database
from readapi.state.tables import shown_on_profile


class Showing:
    """Choices by the at-uri of what is shown: a playlist, or the profile for what its owner likes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def among(self, subjects: Iterable[str]) -> dict[str, bool]:
        """Of these, whatever somebody chose something for."""
        wanted = list(subjects)
        if not wanted:
            return {}
        found = select(shown_on_profile).where(shown_on_profile.c.subject.in_(wanted))
        async with self._database.reading() as connection:
            return {row.subject: row.shown for row in await connection.execute(found)}

    async def choose(self, subject: str, shown: bool | None) -> None:
        """Show it or not; None: forget that anything was chosen."""
        async with self._database.writing() as connection:
            await connection.execute(delete(shown_on_profile).where(shown_on_profile.c.subject == subject))
            if shown is not None:
                await connection.execute(shown_on_profile.insert().values(subject=subject, shown=shown))
