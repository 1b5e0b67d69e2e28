"""Few at a time at each server: a slow one keeps its own people waiting, and nobody else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from readapi.oauth.errors import Unavailable

AT_ONCE = 4
PATIENCE_SECONDS = 10.0


class Turns:
    """So many at each server at once; who gets no turn in time goes without."""

    def __init__(self, at_once: int = AT_ONCE, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._at_once = at_once
        self._patience_seconds = patience_seconds
        self._servers: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def at(self, server: str) -> AsyncIterator[None]:
        """Wait for a turn, and have it for as long as the block runs. Raises Unavailable."""
        turns = self._servers.setdefault(server, asyncio.Semaphore(self._at_once))
        try:
            async with asyncio.timeout(self._patience_seconds):
                await turns.acquire()
        except TimeoutError:
            raise Unavailable("Your server takes too long to answer.") from None
        try:
            yield
        finally:
            turns.release()
