"""Play counts, in all and by the hour: per listener and track, one play counts within a period.

A row of `play_hours` has numbers alone. Its listeners need no list of names: whether a listener's play is the
first within the hour follows from their counted play before it, which `listens` keeps for an hour anyway.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import bindparam, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.state.db.database import Database
from readapi.state.db.encryption import Encryption
from readapi.state.db.tables import Instant, listens, play_counts, play_hours
from schemas.ids import AtUri
from schemas.play_counts import HOURS_KEPT

SHORTEST: Final = timedelta(seconds=30)
LONGEST: Final = timedelta(hours=1)  # at least an hour: then no listener counts twice within one


@dataclass(frozen=True, slots=True)
class Play:
    """A track's plays so far. `counted_at`: None when this play came too soon after the listener's last."""

    count: int
    counted_at: datetime | None


def replay_pause(duration_seconds: int | None) -> timedelta:
    """How long after a counted play of a track the same listener's next one counts."""
    return max(SHORTEST, min(timedelta(seconds=duration_seconds or 0), LONGEST))


def hour_of(instant: datetime) -> datetime:
    """The beginning of the hour, in UTC."""
    return instant.replace(minute=0, second=0, microsecond=0)


class PlayCounts:
    """Counts plays. Listeners are stored as keyed hashes, only as long as repetitions must be detected."""

    def __init__(self, database: Database, vault: Encryption) -> None:
        self._database = database
        self._vault = vault
        # Made once: to make and analyse a statement takes longer than SQLite takes to run it.
        self._forget = delete(listens).where(listens.c.counted_at < bindparam("before"))
        listening = database.insert(listens)
        self._listen = listening.on_conflict_do_update(
            index_elements=["track_uri", "listener"],
            set_={"counted_at": listening.excluded.counted_at, "previous_at": listens.c.counted_at},
            where=listens.c.counted_at <= bindparam("until", type_=Instant),
        ).returning(listens.c.previous_at)
        adding = database.insert(play_counts)
        self._add = adding.on_conflict_do_update(
            index_elements=["track_uri"],
            set_={"plays": play_counts.c.plays + 1, "counted_at": adding.excluded.counted_at},
        ).returning(play_counts.c.plays)
        adding = database.insert(play_hours)
        self._add_in_hour = adding.on_conflict_do_update(
            index_elements=["track_uri", "hour"],
            set_={
                "plays": play_hours.c.plays + 1,
                "listeners": play_hours.c.listeners + adding.excluded.listeners,
            },
        ).returning(play_hours.c.plays)

    async def count(self, track: AtUri, listener: str, duration_seconds: int | None) -> Play:
        """Count a play. `listener`: a DID, or a client's address."""
        now = self._database.now()
        async with self._database.writing() as connection:
            await connection.execute(self._forget, {"before": now - LONGEST})
            heard = {"track_uri": str(track), "listener": self._vault.digest(listener), "counted_at": now}
            until = now - replay_pause(duration_seconds)
            counts = (await connection.execute(self._listen, {**heard, "until": until})).one_or_none()
            if counts is None:
                return Play(await _plays(connection, track), None)
            added = {"track_uri": str(track), "plays": 1, "counted_at": now}
            count = (await connection.execute(self._add, added)).scalar_one()
            await self._count_hour(connection, track, now, counts.previous_at)
        return Play(count, now)

    async def _count_hour(
        self, connection: AsyncConnection, track: AtUri, now: datetime, previous: datetime | None
    ) -> None:
        """Count a play in its hour; `previous`: the listener's play before it, if it is known.

        The first play of a track in an hour deletes the rows of all tracks that are older than HOURS_KEPT.
        """
        hour = hour_of(now)
        listeners = int(previous is None or previous < hour)
        added = {"track_uri": str(track), "hour": hour, "plays": 1, "listeners": listeners}
        plays = (await connection.execute(self._add_in_hour, added)).scalar_one()
        if plays == 1:
            await connection.execute(delete(play_hours).where(play_hours.c.hour < now - HOURS_KEPT))


async def _plays(connection: AsyncConnection, track: AtUri) -> int:
    found = select(play_counts.c.plays).where(play_counts.c.track_uri == str(track))
    return (await connection.execute(found)).scalar_one_or_none() or 0
