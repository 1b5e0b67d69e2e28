"""Connections whose statements raise DatabaseAway, and transactions that cancellation does not interrupt."""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.state.db.away import asking

T = TypeVar("T")


class Statements(AsyncConnection):
    """A connection. Starting it, statements and commits raise DatabaseAway."""

    async def start(self, is_ctxmanager: bool = False) -> AsyncConnection:
        """Connect."""
        with asking():
            return await super().start(is_ctxmanager)

    async def execute(self, *arguments: Any, **options: Any) -> Any:
        """One statement; its rows are fetched."""
        with asking():
            return await super().execute(*arguments, **options)

    async def commit(self) -> None:
        """Commit."""
        with asking():
            await super().commit()


class Transaction(Statements):
    """A cancellation during a statement takes effect after it, so that the transaction can still roll back.

    An SQLite statement that is not stepped to its end holds the database's lock until it is garbage
    collected.
    """

    async def start(self, is_ctxmanager: bool = False) -> AsyncConnection:
        """Connect and begin."""

        async def begun() -> AsyncConnection:
            await Statements.start(self, is_ctxmanager)
            with asking():
                await self.begin()
            return self

        return await to_its_end(begun())

    async def execute(self, *arguments: Any, **options: Any) -> Any:
        """One statement; its rows are fetched."""
        return await to_its_end(super().execute(*arguments, **options))

    async def commit(self) -> None:
        """Commit."""
        await to_its_end(super().commit())

    async def close(self) -> None:
        """Return the connection to the pool, and roll back what was not committed."""
        await to_its_end(super().close())


async def to_its_end(step: Coroutine[Any, Any, T] | asyncio.Task[T]) -> T:
    """Await the step's result; a cancellation is raised after it."""
    doing = step if isinstance(step, asyncio.Task) else asyncio.create_task(step)
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        while not doing.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait((doing,))
        if not doing.cancelled():
            doing.exception()  # retrieved: a cancelled task raises nothing else
        raise
