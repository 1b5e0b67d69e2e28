"""Reads the play counts that the API keeps in the state database: all that another program reads of it.

The table `play_counts` is the boundary: `track_uri`, `plays` so far, `counted_at` in Unix microseconds.
"""

import asyncio
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

import asyncpg

from schemas import data_folder
from schemas.settings import Settings

Counts = dict[str, int]  # at-uri of a track -> its plays so far
Row = tuple[str, int]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# As SQLite writes them; PostgreSQL has $1 in place of ?.
_AFTER: Final = """
    select track_uri, plays from play_counts where track_uri > ? order by track_uri limit 5000
"""
_SINCE: Final = """
    select track_uri, plays from play_counts where counted_at >= ?
"""


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

    async def close(self) -> None:
        """Close the connection, if one is open."""
        await self._database.close()


class _Database(Protocol):
    async def rows(self, query: str, value: str | int) -> list[Row]:
        """The rows of a query. Raises Away."""

    async def close(self) -> None:
        """Close the connection, if one is open."""


class _Sqlite:
    """The file of an SQLite database, opened for each query: it may be replaced between two."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def rows(self, query: str, value: str | int) -> list[Row]:
        return await asyncio.to_thread(self._rows, query, value)

    async def close(self) -> None:
        return

    def _rows(self, query: str, value: str | int) -> list[Row]:
        try:
            with closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)) as connection:
                return connection.execute(query, (value,)).fetchall()
        except sqlite3.Error as error:
            raise Away(str(error)) from error


class _Postgresql:
    """A PostgreSQL database, by one connection that is made anew after an error."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: asyncpg.Connection | None = None

    async def rows(self, query: str, value: str | int) -> list[Row]:
        try:
            if self._connection is None:
                self._connection = await asyncpg.connect(self._url, timeout=5, command_timeout=15)
            found = await self._connection.fetch(query.replace("?", "$1"), value)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
            await self.close()
            raise Away(str(error)) from error
        return [(uri, plays) for uri, plays in found]

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None
