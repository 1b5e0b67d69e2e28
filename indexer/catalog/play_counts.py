"""Reads the play counts of tracks from the state database, where the API counts them.

The reader's position is not stored: counts are totals, so that reading one twice does no harm, and a new or
rebuilt index begins by reading all.
"""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

import asyncpg
import structlog

from schemas.settings import Settings

log = structlog.get_logger()

Counts = dict[str, int]  # at-uri of a track -> its plays so far
Row = tuple[str, int]

LOOK_SECONDS: Final = 0.5
LATE: Final = timedelta(seconds=60)  # a count is dated when its transaction begins, and visible when it ends
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Each in the words of SQLite; PostgreSQL wants $1 in place of ?.
_ALL = """
    select track_uri, plays from play_counts where track_uri > ? order by track_uri limit 5000
"""
_SINCE = """
    select track_uri, plays from play_counts where counted_at >= ?
"""


class Database(Protocol):
    """Where plays are counted."""

    async def rows(self, query: str, value: str | int) -> list[Row]:
        """Raises Away."""

    async def close(self) -> None:
        """Let go."""


class Away(Exception):
    """The state database does not exist yet, or cannot be reached now."""


class PlayCounts:
    """Yields the play counts of all tracks first, then those that change."""

    def __init__(self, settings: Settings) -> None:
        self._database: Database = (
            Sqlite(settings.data_dir / "state" / "state.db")
            if settings.state_url is None
            else Postgresql(settings.state_url)
        )
        self._yielded: Counts = {}

    async def changes(self) -> AsyncGenerator[Counts]:
        """Yield counts as they change, for ever."""
        try:
            async for counts in self._changes():
                yield counts
        finally:
            await self._database.close()

    async def _changes(self) -> AsyncGenerator[Counts]:
        since: int | None = None
        while True:
            try:
                now = (datetime.now(UTC) - LATE - _EPOCH) // timedelta(microseconds=1)
                if since is None:
                    async for counts in self._all():
                        yield counts
                elif changed := await self._since(since):
                    yield changed
                since = now
            except Away as error:
                log.debug("plays not read", reason=str(error))
            await asyncio.sleep(LOOK_SECONDS)

    async def _all(self) -> AsyncGenerator[Counts]:
        last = ""
        while rows := await self._database.rows(_ALL, last):
            yield dict(rows)
            last = rows[-1][0]

    async def _since(self, instant: int) -> Counts:
        """Counts that changed since an instant, without those that were yielded the last time."""
        found = dict(await self._database.rows(_SINCE, instant))
        changed = {uri: plays for uri, plays in found.items() if self._yielded.get(uri) != plays}
        self._yielded = found
        return changed


class Sqlite:
    """The state database as a file that the API's process writes."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def rows(self, query: str, value: str | int) -> list[Row]:
        """The rows of a query. Raises Away."""
        return await asyncio.to_thread(self._rows, query, value)

    async def close(self) -> None:
        """Do nothing: no connection stays open between queries."""

    def _rows(self, query: str, value: str | int) -> list[Row]:
        try:
            with closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)) as connection:
                return connection.execute(query, (value,)).fetchall()
        except sqlite3.Error as error:
            raise Away(str(error)) from error


class Postgresql:
    """The state database on a PostgreSQL server."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: asyncpg.Connection | None = None

    async def rows(self, query: str, value: str | int) -> list[Row]:
        """The rows of a query. Raises Away."""
        try:
            if self._connection is None:
                self._connection = await asyncpg.connect(self._url, timeout=5, command_timeout=15)
            found = await self._connection.fetch(query.replace("?", "$1"), value)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
            await self.close()
            raise Away(str(error)) from error
        return [(uri, plays) for uri, plays in found]

    async def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None
