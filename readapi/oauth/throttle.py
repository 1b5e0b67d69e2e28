"""Limits concurrent requests per server, so that a slow server delays its own accounts only."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from readapi.oauth.errors import Unavailable

AT_ONCE = 4
PATIENCE_SECONDS = 10.0


class Turn:
    """A slot, to be released once. The base class is a slot without a limit."""

    def end(self) -> None:
        """Release the slot."""


class _TakenTurn(Turn):
    def __init__(self, turns: asyncio.Semaphore) -> None:
        self._turns = turns

    def end(self) -> None:
        self._turns.release()


class KeyedSlots:
    """At most `at_once` slots per key, such as a server or a client.

    `patience_seconds`: how long a slot is waited for; None: for as long as it takes.
    """

    def __init__(self, at_once: int = AT_ONCE, patience_seconds: float | None = PATIENCE_SECONDS) -> None:
        self._at_once = at_once
        self._patience_seconds = patience_seconds
        self._keys: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def at(self, server: str) -> AsyncIterator[None]:
        """Wait for a slot, and hold it while the block runs. Raises Unavailable."""
        turn = await self.take(server)
        try:
            yield
        finally:
            turn.end()

    async def take(self, key: str) -> Turn:
        """Wait for a slot, which is held until `end`. Raises Unavailable."""
        turns = self._keys.setdefault(key, asyncio.Semaphore(self._at_once))
        try:
            async with asyncio.timeout(self._patience_seconds):
                await turns.acquire()
        except TimeoutError:
            raise Unavailable("Your server takes too long to answer.", unasked=True) from None
        return _TakenTurn(turns)
