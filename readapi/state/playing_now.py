"""What accounts that show it are listening to now: one track each, until it ends."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, select

from readapi.state.db.database import Database
from readapi.state.db.publishing_tables import preferences
from readapi.state.db.tables import playing_now
from schemas.ids import Did, Handle

UNKNOWN: Final = timedelta(minutes=10)  # how long a track of unknown length is played
LONGEST: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Playing:
    """What an account listens to. `track_uri`: of a track of this index. `listen`: ListenBrainz's JSON."""

    did: Did
    handle: Handle
    track_uri: str | None
    listen: str
    started_at: datetime


class PlayingNow:
    """The table `playing_now`, of which only what accounts show is read.

    An account may turn that off while a track of it is noted.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(
        self, did: Did, handle: Handle, track_uri: str | None, listen: str, lasts: timedelta
    ) -> None:
        """Note what an account is listening to, in place of what came before."""
        now = self._database.now()
        row = {
            "did": did,
            "handle": handle,
            "track_uri": track_uri,
            "listen": listen,
            "started_at": now,
            "ends_at": now + min(lasts or UNKNOWN, LONGEST),
        }
        async with self._database.writing() as connection:
            await connection.execute(delete(playing_now).where(playing_now.c.ends_at <= now))
            await connection.execute(self._database.upsert(playing_now, row))

    async def end(self, did: Did) -> None:
        """Forget what an account is listening to."""
        async with self._database.writing() as connection:
            await connection.execute(delete(playing_now).where(playing_now.c.did == did))

    async def of(self, did: Did) -> Playing | None:
        """What an account is listening to."""
        found = await self._find(playing_now.c.did == did, 1)
        return found[0] if found else None

    async def latest(self, most: int) -> list[Playing]:
        """Who is listening to tracks of this index, the latest first."""
        return await self._find(playing_now.c.track_uri.is_not(None), most)

    async def _find(self, which: object, most: int) -> list[Playing]:
        columns = playing_now.c
        found = (
            select(columns.did, columns.handle, columns.track_uri, columns.listen, columns.started_at)
            .join(preferences, preferences.c.did == columns.did)
            .where(which, columns.ends_at > self._database.now(), preferences.c.show_playing)  # type: ignore[arg-type]
            .order_by(columns.started_at.desc(), columns.did)
            .limit(most)
        )
        async with self._database.reading() as connection:
            return [Playing(*row) for row in await connection.execute(found)]
