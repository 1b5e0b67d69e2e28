"""Plays: counted by the API in the state database, and read from there.

Nothing is remembered of how far the reading has come: numbers are whole, so that reading one twice does no
harm, and an index that is new or rebuilt begins by reading all.
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
LATE: Final = timedelta(seconds=60)  # a count is dated when its transaction begins, and seen when it ends
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
    """The state database is not there, not yet, or not now."""


class Plays:
    """The numbers of plays, first all, then those that change."""

    def __init__(self, settings: Settings) -> None:
        self._database: Database = (
            Sqlite(settings.data_dir / "state" / "state.db")
            if settings.state_url is None
            else Postgresql(settings.state_url)
        )
        self._told: Counts = {}

    async def changes(self) -> AsyncGenerator[Counts]:
        """Yield numbers as they change, for ever."""
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
        """Only what was not told the last time."""
        found = dict(await self._database.rows(_SINCE, instant))
        changed = {uri: plays for uri, plays in found.items() if self._told.get(uri) != plays}
        self._told = found
        return changed


class Sqlite:
    """A file that another process writes."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def rows(self, query: str, value: str | int) -> list[Row]:
        """The rows of a query. Raises Away."""
        return await asyncio.to_thread(self._rows, query, value)

    async def close(self) -> None:
        """Nothing is held between two questions."""

    def _rows(self, query: str, value: str | int) -> list[Row]:
        try:
            with closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)) as connection:
                return connection.execute(query, (value,)).fetchall()
        except sqlite3.Error as error:
            raise Away(str(error)) from error


class Postgresql:
    """A server that other machines may use too."""

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
        """Let the connection go."""
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None
