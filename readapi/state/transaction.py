"""A transaction whose steps are never cut half way, so that it ends with the task that began it."""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection

T = TypeVar("T")


class Transaction(AsyncConnection):
    """Whoever is cancelled in a step leaves when it is done, and can still roll back.

    A statement of SQLite that nobody steps to its end holds the database's lock until it is collected as
    garbage.
    """

    async def start(self, is_ctxmanager: bool = False) -> AsyncConnection:
        """Connect and begin."""

        async def begun() -> AsyncConnection:
            await AsyncConnection.start(self, is_ctxmanager)
            await self.begin()
            return self

        return await _to_its_end(begun())

    async def execute(self, *arguments: Any, **options: Any) -> Any:
        """One statement; its rows are fetched."""
        return await _to_its_end(super().execute(*arguments, **options))

    async def commit(self) -> None:
        """End with what was done."""
        await _to_its_end(super().commit())

    async def close(self) -> None:
        """Give the connection back; what was not committed is undone."""
        await _to_its_end(super().close())


async def _to_its_end(step: Coroutine[Any, Any, T]) -> T:
    """Its result; a cancellation waits until there is one."""
    doing = asyncio.create_task(step)
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        while not doing.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait((doing,))
        if not doing.cancelled():
            doing.exception()  # seen: whoever is cancelled hears of nothing else
        raise
