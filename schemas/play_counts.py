"""Reads the play counts that the API keeps in the state database: all that another program reads of it.

Two tables are the boundary: `play_counts` with `track_uri`, `plays` so far, `counted_at`; `play_hours` with
`track_uri`, `hour` (its beginning), `plays`. Times are Unix microseconds.
"""

import asyncio
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import asyncpg

from schemas import data_folder
from schemas.settings import Settings

Counts = dict[str, int]  # at-uri of a track -> its plays so far
HOURS_KEPT: Final = timedelta(days=1096)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# As SQLite writes them; PostgreSQL has $1, $2 in place of each ?.
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


class Away(Exception):
    """The state database does not exist yet, or cannot be reached now."""


class PlayCountTable:
    """The table, in the database that the settings name. Every method but `close` raises Away."""

    def __init__(self, settings: Settings) -> None:
        self._database: _Database = (
            _Sqlite(settings.data_dir / data_folder.STATE_DATABASE)
            if settings.state_url is None
            else _Postgresql(settings.state_url)
        )

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


class _Database(Protocol):
    async def rows(self, query: str, *values: str | int) -> list[tuple[Any, ...]]:
        """The rows of a query. Raises Away."""

    async def close(self) -> None:
        """Close the connection, if one is open."""


class _Sqlite:
    """The file of an SQLite database, opened for each query: it may be replaced between two."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def rows(self, query: str, *values: str | int) -> list[tuple[Any, ...]]:
        return await asyncio.to_thread(self._rows, query, values)

    async def close(self) -> None:
        return

    def _rows(self, query: str, values: tuple[str | int, ...]) -> list[tuple[Any, ...]]:
        try:
            with closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)) as connection:
                return connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise Away(str(error)) from error


class _Postgresql:
    """A PostgreSQL database, by one connection that is made anew after an error."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: asyncpg.Connection | None = None

    async def rows(self, query: str, *values: str | int) -> list[tuple[Any, ...]]:
        try:
            if self._connection is None:
                self._connection = await asyncpg.connect(self._url, timeout=5, command_timeout=15)
            found = await self._connection.fetch(_numbered(query), *values)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
            await self.close()
            raise Away(str(error)) from error
        return [tuple(row) for row in found]

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None


def _numbered(query: str) -> str:
    first, *rest = query.split("?")
    return first + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))
