"""Locks between processes, which end with the process that holds them.

On SQLite a lock is a locked file beside the database, on PostgreSQL an advisory lock.
Neither has a time limit: a new holder can be sure that the one before has finished or ended, or, where
PostgreSQL or the connection to it ended, that it is interrupted as soon as it hears of that. What holds a
lock for long asks `is_held` from time to time, since a machine that slept hears of nothing.
"""

import asyncio
import fcntl
import hashlib
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from readapi.state.db.advisory_locks import LOOK_SECONDS
from readapi.state.db.away import LockLost
from readapi.state.db.database import Database
from readapi.state.db.transaction import to_its_end

T = TypeVar("T")
_FILES = 4096  # names that share a file wait for each other, which should be rare


class Locks:
    """One holder per name at a time, among all processes that share the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @asynccontextmanager
    async def holding(self, name: str) -> AsyncIterator[None]:
        """Wait for the lock, then hold it for as long as the block runs.

        Raises DatabaseAway, or LockLost where the block was interrupted because the lock has ended.
        """
        number, advisory = _number(name), self._database.advisory
        async with self._hold_file(number) if advisory is None else advisory.holding(number):
            yield

    async def finish(self, name: str, begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Wait for the lock, then run under it to its end what must not be done twice.

        Its result is returned, or its error raised, also where the lock is lost meanwhile. A cancellation is
        raised after it. Raises DatabaseAway or LockLost only if it was not begun.
        """
        begun: asyncio.Task[T] | None = None
        try:
            async with self.holding(name):
                begun = asyncio.create_task(begin())
                return await to_its_end(begun)
        except LockLost:
            if begun is None:
                raise
            return begun.result()

    async def is_held(self, name: str) -> bool:
        """Does this process still hold a lock that it took? PostgreSQL releases it with a lost connection."""
        advisory = self._database.advisory
        return advisory is None or await advisory.is_held(_number(name))

    @asynccontextmanager
    async def _hold_file(self, number: int) -> AsyncIterator[None]:
        path = self._folder() / f"{number % _FILES:03x}"
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not _try_lock(file):  # noqa: ASYNC110  # other processes set no event of ours
                await asyncio.sleep(LOOK_SECONDS)
            yield
        finally:
            os.close(file)

    def _folder(self) -> Path:
        database = self._database.engine.url.database
        assert database is not None
        folder = Path(database).parent / "locks"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder


def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
