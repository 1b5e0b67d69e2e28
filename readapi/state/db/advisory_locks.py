"""PostgreSQL advisory locks, all of a process on one connection, so that their number costs nothing.

Locks are held during requests to accounts' servers. With one connection per lock, a few slow servers would
use up the connection pool. A pooler in between must work in session mode.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from weakref import WeakValueDictionary

from sqlalchemy import BigInteger, ColumnElement, cast, column, exists, extract, func, select, table
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from readapi.state.db.away import LockLost, asking

LOOK_SECONDS = 0.025
# For the last steps of those that held a lock when PostgreSQL ended, and cannot be told of it yet.
GRACE_SECONDS = 5.0
_LOCKS = table("pg_locks", *map(column, ("locktype", "granted", "pid", "classid", "objid")))
_HALF = 0xFFFFFFFF
_SERVER_AGE = extract("epoch", func.clock_timestamp() - func.pg_postmaster_start_time())


class _Hold:
    """A block under a lock. Its timeout can interrupt it until it is left."""

    def __init__(self) -> None:
        self.timeout = asyncio.timeout(None)
        self.is_left = False


class _Link:
    """A connection, and the blocks that run under its locks."""

    def __init__(self, connection: AsyncConnection) -> None:
        self.connection = connection
        self.holds: set[_Hold] = set()
        self.has_ended = False

    def end(self, *_: object) -> None:
        """Interrupt the blocks. The driver calls this as soon as the connection has ended."""
        self.has_ended = True
        while self.holds:
            with suppress(RuntimeError):  # one that was left already keeps no other from being interrupted
                self.holds.pop().timeout.reschedule(0)


class Advisory:
    """Locks that end with the connection, so with this process. Raises DatabaseAway."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._link: _Link | None = None
        self._was_lost = False
        self._grace_until = 0.0
        self._asking = asyncio.Lock()
        self._here: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def holding(self, number: int) -> AsyncIterator[None]:
        """Wait for the lock, then hold it for as long as the block runs.

        When the connection is lost, another process can take the lock at once. So the block is interrupted
        where it waits, as by a cancellation, and LockLost is raised.

        After the connection was lost or PostgreSQL started, this takes GRACE_SECONDS longer: the last holder
        may be about to commit what cannot be had again.
        """
        # Advisory locks are reentrant per connection, so a local lock keeps this process's tasks apart.
        async with self._here.setdefault(number, asyncio.Lock()):
            hold = _Hold()
            try:
                async with hold.timeout:
                    while not await self._ask(func.pg_try_advisory_lock(number), hold):  # noqa: ASYNC110  # others set no event of ours
                        await asyncio.sleep(LOOK_SECONDS)
                    await asyncio.sleep(self._grace_until - time.monotonic())
                    yield
            except TimeoutError as error:
                if hold.timeout.expired():
                    raise LockLost("The connection that held the lock has ended.") from error
                raise
            finally:
                hold.is_left = True
                if not hold.timeout.expired():
                    with suppress(SQLAlchemyError, OSError):  # a lost connection has released it already
                        await self._release(number, hold)

    async def is_held(self, number: int) -> bool:
        """Does this process still hold a lock that it took? A lost connection released it."""
        return await self._ask(_is_listed(number))

    async def close(self) -> None:
        """Release all locks."""
        async with self._asking:
            await self._hang_up()
        await self._engine.dispose()

    async def _release(self, number: int, hold: _Hold) -> None:
        if self._link is not None:
            self._link.holds.discard(hold)
        await self._ask(func.pg_advisory_unlock(number))

    async def _ask(self, question: ColumnElement[bool], hold: _Hold | None = None) -> bool:
        # A cancelled task must not break the connection that all locks are held on.
        return await asyncio.shield(asyncio.create_task(self._asked(question, hold)))

    async def _asked(self, question: ColumnElement[bool], hold: _Hold | None) -> bool:
        async with self._asking:
            was_there = self._link is not None
            try:
                return await self._answer(question, hold)
            except (SQLAlchemyError, OSError):
                await self._hang_up()
                if not was_there:
                    raise
            return await self._answer(question, hold)  # retried: the connection may have broken while idle

    async def _answer(self, question: ColumnElement[bool], hold: _Hold | None) -> bool:
        """The answer to a question. If it is yes, `hold` is interrupted when the connection ends."""
        with asking():
            if self._link is None:
                self._link = await self._connect()
            answer = bool((await self._link.connection.execute(select(question))).scalar_one())
        if self._link.has_ended:
            raise LockLost("The connection ended before its answer was read.")
        # A block whose task was cancelled while the question was under way releases the lock next.
        if answer and hold is not None and not hold.is_left:
            self._link.holds.add(hold)
        return answer

    async def _connect(self) -> _Link:
        link = _Link(await self._engine.connect())
        try:
            age = float((await link.connection.execute(select(_SERVER_AGE))).scalar_one())
            driver: Any = (await link.connection.get_raw_connection()).driver_connection
            driver.add_termination_listener(link.end)
        except BaseException:
            await _drop(link.connection)  # it has the only place in the pool
            raise
        self._grace_until = time.monotonic() + GRACE_SECONDS - (0 if self._was_lost else age)
        return link

    async def _hang_up(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            self._was_lost = True
            link.end()
            await _drop(link.connection)


async def _drop(connection: AsyncConnection) -> None:
    for step in (connection.invalidate, connection.close):
        with suppress(SQLAlchemyError, OSError):
            await step()


def _is_listed(number: int) -> ColumnElement[bool]:
    """SQL: this connection holds the lock. PostgreSQL lists the halves of its number."""
    high, low = number >> 32 & _HALF, number & _HALF
    own = _LOCKS.c.pid == func.pg_backend_pid()
    halves = (cast(_LOCKS.c.classid, BigInteger) == high) & (cast(_LOCKS.c.objid, BigInteger) == low)
    return exists().where(_LOCKS.c.locktype == "advisory", _LOCKS.c.granted, own, halves)
