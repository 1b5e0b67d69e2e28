"""The state database: address, connections and transactions."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Table, event, make_url
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine.interfaces import IsolationLevel
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from readapi.state.db.advisory_locks import Advisory
from readapi.state.db.commits import Commits
from readapi.state.db.transaction import Statements, Transaction
from schemas import data_folder
from schemas.settings import Settings

SCRIPTS: Final = Path(__file__).parents[1] / "migrations"
CONNECTIONS = 5
BUSY_SECONDS = 15.0
CONNECT_SECONDS = 5.0
COMMAND_SECONDS = 15.0

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The current time, UTC: the clock of everything but tests."""
    return datetime.now(UTC)


def database_url(settings: Settings) -> URL:
    """The configured PostgreSQL URL, else an SQLite file in the data folder."""
    if settings.state_url is not None:
        return make_url(settings.state_url).set(drivername="postgresql+asyncpg")
    return URL.create("sqlite+aiosqlite", database=str(settings.data_dir / data_folder.STATE_DATABASE))


class Database:
    """Connections to one database, and the clock for its timestamps."""

    def __init__(self, url: URL, clock: Clock = utc_now) -> None:
        self.now = clock
        self.writes = 0
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self.engine = _sqlite(url) if self.is_sqlite else _postgresql(url, CONNECTIONS)
        self._commits = Commits(Path(url.database)) if self.is_sqlite and url.database else None
        self.advisory = None if self.is_sqlite else Advisory(_postgresql(url, 1, "AUTOCOMMIT"))

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """One transaction: commits at the end of the block; rolls back on an exception or cancellation.

        Raises DatabaseAway.
        """
        transaction = Transaction(self.engine)
        try:
            await transaction.start()
            yield transaction
            await transaction.commit()
        finally:
            if transaction.sync_connection is not None:
                await transaction.close()
            self.writes += 1

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A read-only transaction, which waits for no writer. Raises DatabaseAway."""
        async with Statements(self.engine) as connection:
            yield await connection.execution_options(reading=True)

    def mark(self) -> int | None:
        """See `Commits.mark`. None where it costs as much as a query, which is on PostgreSQL."""
        return self._commits.mark() if self._commits else None

    def insert(self, table: Table) -> sqlite.Insert | postgresql.Insert:
        """An INSERT of the database's dialect, with ON CONFLICT."""
        return sqlite.insert(table) if self.is_sqlite else postgresql.insert(table)

    def upsert(self, table: Table, row: Mapping[str, Any]) -> sqlite.Insert | postgresql.Insert:
        """Insert a row, or replace the one with its key; atomic under concurrency."""
        key = [column.name for column in table.primary_key]
        told = {name: value for name, value in row.items() if name not in key}
        return self.insert(table).values(row).on_conflict_do_update(index_elements=key, set_=told)

    async def close(self) -> None:
        """Close all connections."""
        if self._commits is not None:
            self._commits.close()
        if self.advisory is not None:
            await self.advisory.close()
        await self.engine.dispose()


def _postgresql(
    url: URL, connections: int, isolation_level: IsolationLevel = "READ COMMITTED"
) -> AsyncEngine:
    return create_async_engine(
        url,
        pool_size=connections,
        max_overflow=0,
        pool_pre_ping=True,
        isolation_level=isolation_level,
        connect_args={"timeout": CONNECT_SECONDS, "command_timeout": COMMAND_SECONDS},
        hide_parameters=True,
    )


def _sqlite(url: URL) -> AsyncEngine:
    engine = create_async_engine(
        url,
        pool_size=CONNECTIONS,
        max_overflow=0,
        connect_args={"timeout": BUSY_SECONDS},
        hide_parameters=True,
    )
    event.listen(engine.sync_engine, "connect", _configure_sqlite)
    event.listen(engine.sync_engine, "begin", _begin_sqlite)
    return engine


def _configure_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver's own BEGIN comes too late, and is never IMMEDIATE
    cursor = connection.cursor()
    # FULL: a refresh token that a power cut rolls back cannot be obtained again.
    for pragma in ("journal_mode = wal", "synchronous = full", "foreign_keys = on"):
        cursor.execute(f"pragma {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that begins by reading cannot become a writer while another writes: it fails at once.
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("begin" if reading else "begin immediate")


class MigrationFailed(Exception):
    """The schema cannot be migrated; the message is one sentence for the operator."""
