"""Play counts: per listener and track, one play counts within a period, in all processes."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.state.db.database import Database
from readapi.state.db.encryption import Encryption
from readapi.state.db.tables import listens, play_counts
from schemas.ids import AtUri

SHORTEST: Final = timedelta(seconds=30)
LONGEST: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Play:
    """A track's plays so far. `counted_at`: None when this play came too soon after the listener's last."""

    count: int
    counted_at: datetime | None


def replay_pause(duration_seconds: int | None) -> timedelta:
    """How long after a counted play of a track the same listener's next one counts."""
    return max(SHORTEST, min(timedelta(seconds=duration_seconds or 0), LONGEST))


class PlayCounts:
    """Counts plays. Listeners are stored as keyed hashes, only as long as repetitions must be detected."""

    def __init__(self, database: Database, vault: Encryption) -> None:
        self._database = database
        self._vault = vault

    async def count(self, track: AtUri, listener: str, duration_seconds: int | None) -> Play:
        """Count a play. `listener`: a DID, or a client's address."""
        now = self._database.now()
        async with self._database.writing() as connection:
            await connection.execute(delete(listens).where(listens.c.counted_at < now - LONGEST))
            heard = {"track_uri": str(track), "listener": self._vault.digest(listener), "counted_at": now}
            listening = self._database.insert(listens).values(heard)
            listening = listening.on_conflict_do_update(
                index_elements=["track_uri", "listener"],
                set_={"counted_at": now},
                where=listens.c.counted_at <= now - replay_pause(duration_seconds),
            )
            counts = (await connection.execute(listening.returning(listens.c.track_uri))).one_or_none()
            if counts is None:
                return Play(await _plays(connection, track), None)
            adding = self._database.insert(play_counts).values(track_uri=str(track), plays=1, counted_at=now)
            adding = adding.on_conflict_do_update(
                index_elements=["track_uri"], set_={"plays": play_counts.c.plays + 1, "counted_at": now}
            )
            count = (await connection.execute(adding.returning(play_counts.c.plays))).scalar_one()
        return Play(count, now)


async def _plays(connection: AsyncConnection, track: AtUri) -> int:
    found = select(play_counts.c.plays).where(play_counts.c.track_uri == str(track))
    return (await connection.execute(found)).scalar_one_or_none() or 0
