"""Reads tables of the API's state database: the only way for another program to read of it."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import asyncpg

from schemas import data_folder
from schemas.settings import Settings

Rows = list[tuple[Any, ...]]


class Away(Exception):
    """The state database does not exist yet, or cannot be reached now."""


class Missing(Away):
    """The state database, or the table, has not been made yet: there is nothing in it."""


class StateReader(Protocol):
    """Queries, written as SQLite writes them: PostgreSQL has $1, $2 in place of each ?."""

    async def rows(self, query: str, *values: str | int) -> Rows:
        """The rows of a query. Raises Away; Missing when there can be none."""

    async def close(self) -> None:
        """Close the connection, if one is open."""


def open_reader(settings: Settings) -> StateReader:
    """A reader of the database that the settings name. It connects with its first query."""
    if settings.state_url is None:
        return _Sqlite(settings.data_dir / data_folder.STATE_DATABASE)
    return _Postgresql(settings.state_url)


class _Sqlite:
    """The file of an SQLite database, opened for each query: it may be replaced between two."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def rows(self, query: str, *values: str | int) -> Rows:
        return await asyncio.to_thread(self._rows, query, values)

    async def close(self) -> None:
        return

    def _rows(self, query: str, values: tuple[str | int, ...]) -> Rows:
        try:
            with closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)) as connection:
                return connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            is_missing = not self._path.exists() or str(error).startswith("no such table")
            raise (Missing if is_missing else Away)(str(error)) from error


class _Postgresql:
    """A PostgreSQL database, by one connection that is made anew after an error."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: asyncpg.Connection | None = None

    async def rows(self, query: str, *values: str | int) -> Rows:
        try:
            if self._connection is None:
                self._connection = await asyncpg.connect(self._url, timeout=5, command_timeout=15)
            found = await self._connection.fetch(_numbered(query), *values)
        except asyncpg.UndefinedTableError as error:
            raise Missing(str(error)) from error
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
