"""Few at a time at each server: a slow one keeps its own people waiting, and nobody else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from readapi.oauth.errors import Unavailable

AT_ONCE = 4
PATIENCE_SECONDS = 10.0


class Turn:
    """One turn, to be ended once. By itself it is one of nobody's, which costs nothing."""

    def end(self) -> None:
        """Let the next have it."""


class _Taken(Turn):
    def __init__(self, turns: asyncio.Semaphore) -> None:
        self._turns = turns

    def end(self) -> None:
        self._turns.release()


class Turns:
    """So many of each key at once, as of a server or a client; who gets no turn in time goes without."""

    def __init__(self, at_once: int = AT_ONCE, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._at_once = at_once
        self._patience_seconds = patience_seconds
        self._keys: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def at(self, server: str) -> AsyncIterator[None]:
        """Wait for a turn, and have it for as long as the block runs. Raises Unavailable."""
        turn = await self.take(server)
        try:
            yield
        finally:
            turn.end()

    async def take(self, key: str) -> Turn:
        """Wait for a turn, which lasts until it is ended. Raises Unavailable."""
        turns = self._keys.setdefault(key, asyncio.Semaphore(self._at_once))
        try:
            async with asyncio.timeout(self._patience_seconds):
                await turns.acquire()
        except TimeoutError:
            raise Unavailable("Your server takes too long to answer.", unasked=True) from None
        return _Taken(turns)
