"""PostgreSQL advisory locks, all of a process on one connection, so that their number costs nothing.

Locks are held during requests to accounts' servers. With one connection per lock, a few slow servers would
use up the connection pool. A pooler in between must work in session mode.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from weakref import WeakValueDictionary

from sqlalchemy import BigInteger, ColumnElement, cast, column, exists, extract, func, select, table
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

LOOK_SECONDS = 0.025
# For the last steps of those that held a lock when PostgreSQL or a connection to it ended.
GRACE_SECONDS = 5.0
_LOCKS = table("pg_locks", *map(column, ("locktype", "granted", "pid", "classid", "objid")))
_HALF = 0xFFFFFFFF
_SERVER_AGE = extract("epoch", func.clock_timestamp() - func.pg_postmaster_start_time())


class Advisory:
    """Locks that end with the connection, so with this process. Raises SQLAlchemyError or OSError."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._connection: AsyncConnection | None = None
        self._was_lost = False
        self._grace_until = 0.0
        self._asking = asyncio.Lock()
        self._here: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def holding(self, number: int) -> AsyncIterator[None]:
        """Wait for the lock, then hold it for as long as the block runs.

        After the connection was lost or PostgreSQL started, this takes GRACE_SECONDS longer: the last holder
        may still be at work, because it is not told that the lock has ended.
        """
        # Advisory locks are reentrant per connection, so a local lock keeps this process's tasks apart.
        async with self._here.setdefault(number, asyncio.Lock()):
            try:
                while not await self._ask(func.pg_try_advisory_lock(number)):  # noqa: ASYNC110  # others set no event of ours
                    await asyncio.sleep(LOOK_SECONDS)
                await asyncio.sleep(self._grace_until - time.monotonic())
                yield
            finally:
                with suppress(SQLAlchemyError, OSError):  # a lost connection has released the lock already
                    await self._ask(func.pg_advisory_unlock(number))

    async def is_held(self, number: int) -> bool:
        """Does this process still hold a lock that it took? A lost connection released it."""
        return await self._ask(_is_listed(number))

    async def close(self) -> None:
        """Release all locks."""
        async with self._asking:
            await self._hang_up()
        await self._engine.dispose()

    async def _ask(self, question: ColumnElement[bool]) -> bool:
        # A cancelled task must not break the connection that all locks are held on.
        return await asyncio.shield(asyncio.create_task(self._asked(question)))

    async def _asked(self, question: ColumnElement[bool]) -> bool:
        async with self._asking:
            was_there = self._connection is not None
            try:
                return await self._answer(question)
            except (SQLAlchemyError, OSError):
                await self._hang_up()
                if not was_there:
                    raise
            return await self._answer(question)  # retried: the connection may have broken while idle

    async def _answer(self, question: ColumnElement[bool]) -> bool:
        if self._connection is None:
            self._connection = await self._engine.connect()
            age = float((await self._connection.execute(select(_SERVER_AGE))).scalar_one())
            self._grace_until = time.monotonic() + GRACE_SECONDS - (0 if self._was_lost else age)
        return bool((await self._connection.execute(select(question))).scalar_one())

    async def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._was_lost = True
            with suppress(SQLAlchemyError, OSError):
                await connection.invalidate()
                await connection.close()


def _is_listed(number: int) -> ColumnElement[bool]:
    """SQL: this connection holds the lock. PostgreSQL lists the halves of its number."""
    high, low = number >> 32 & _HALF, number & _HALF
    own = _LOCKS.c.pid == func.pg_backend_pid()
    halves = (cast(_LOCKS.c.classid, BigInteger) == high) & (cast(_LOCKS.c.objid, BigInteger) == low)
    return exists().where(_LOCKS.c.locktype == "advisory", _LOCKS.c.granted, own, halves)
