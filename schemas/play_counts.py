"""Reads the play counts that the API keeps in the state database.

Two tables are the boundary: `play_counts` with `track_uri`, `plays` so far, `counted_at`; `play_hours` with
`track_uri`, `hour` (its beginning), `plays`. Times are Unix microseconds.
"""

from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from schemas.settings import Settings
from schemas.state_reader import open_reader

Counts = dict[str, int]  # at-uri of a track -> its plays so far
HOURS_KEPT: Final = timedelta(days=1096)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_AFTER: Final = """
    select track_uri, plays from play_counts where track_uri > ? order by track_uri limit 5000
"""
_SINCE: Final = """
    select track_uri, plays from play_counts where counted_at >= ?
"""

_HOURS: Final = """
    select track_uri, hour, plays from play_hours
    where (hour, track_uri) > (?, ?) order by hour, track_uri limit 5000
"""


class Hour(NamedTuple):
    """The plays of a track in an hour, which began at so many microseconds since 1970."""

    track_uri: str
    hour: int
    plays: int


class PlayCountTable:
    """The tables, in the database that the settings name. Every method but `close` raises Away.

    See `schemas.state_reader`.
    """

    def __init__(self, settings: Settings) -> None:
        self._database = open_reader(settings)

    async def after(self, track_uri: str) -> Counts:
        """The counts of the next 5,000 tracks after this one, in the order of their at-uris."""
        return dict(await self._database.rows(_AFTER, track_uri))

    async def since(self, instant: datetime) -> Counts:
        """The counts that changed at this instant or later."""
        return dict(await self._database.rows(_SINCE, (instant - _EPOCH) // timedelta(microseconds=1)))

    async def hours_after(self, last: Hour) -> list[Hour]:
        """The next 5,000 hours of tracks after this one: by the hour, then in the order of their at-uris."""
        return [Hour(*row) for row in await self._database.rows(_HOURS, last.hour, last.track_uri)]

    async def close(self) -> None:
        """Close the connection, if one is open."""
        await self._database.close()
