"""How much accounts and networks do here: likes, comments and plays by the hour, for the operator to see.

Counted in memory and written every few seconds: a process that is killed loses that much. Networks are known
by a keyed hash.
"""

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from sqlalchemy import delete, func, select

from readapi.state.db.database import Database
from readapi.state.db.tables import activity_hours
from schemas.ids import Did

Kind = Literal["like", "comment", "play"]
FLUSH_SECONDS: Final = 10.0
KEPT: Final = timedelta(days=2)
MOST_COUNTED: Final = 50_000  # accounts and networks between two writes; what is above is not counted


class Busy(NamedTuple):
    """An account's or network's count of one kind in its busiest hour.

    `who`: a DID, or the hash of a network.
    """

    who: str
    kind: Kind
    hour: datetime
    times: int


class Activity:
    """The table `activity_hours`, and what is not written to it yet."""

    def __init__(self, database: Database, name_network: Callable[[str], str]) -> None:
        self._database = database
        self._name_network = name_network
        self._counted: Counter[tuple[datetime, Kind, str]] = Counter()

    def note(self, kind: Kind, did: Did | None, network: str) -> None:
        """Count one. `network`: the network of the client's address; empty where it is not known."""
        hour = self._database.now().replace(minute=0, second=0, microsecond=0)
        for who in (did, self._name_network(network) if network else None):
            if who is not None and (len(self._counted) < MOST_COUNTED or (hour, kind, who) in self._counted):
                self._counted[hour, kind, who] += 1

    async def flush(self) -> None:
        """Write what was counted, and forget what is older than KEPT."""
        if not self._counted:
            return
        counted, self._counted = self._counted, Counter()
        adding = self._database.insert(activity_hours)
        added = adding.on_conflict_do_update(
            index_elements=["hour", "kind", "who"],
            set_={"count": activity_hours.c.count + adding.excluded.count},
        )
        rows = [
            {"hour": hour, "kind": kind, "who": who, "count": count}
            for (hour, kind, who), count in counted.items()
        ]
        async with self._database.writing() as connection:
            await connection.execute(added, rows)
            old = activity_hours.c.hour < self._database.now() - KEPT
            await connection.execute(delete(activity_hours).where(old))

    async def busiest(self, least: int, most: int) -> list[Busy]:
        """Who did at least so much within an hour, and in which: the most first."""
        table = activity_hours.c
        rank = func.row_number().over(partition_by=(table.who, table.kind), order_by=table.count.desc())
        ranked = select(table.who, table.kind, table.hour, table.count, rank.label("place")).subquery()
        found = (
            select(ranked.c.who, ranked.c.kind, ranked.c.hour, ranked.c.count)
            .where(ranked.c.place == 1, ranked.c.count >= least)
            .order_by(ranked.c.count.desc(), ranked.c.who)
            .limit(most)
        )
        async with self._database.reading() as connection:
            return [Busy(*row) for row in await connection.execute(found)]
