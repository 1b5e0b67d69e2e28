"""Runs a few tasks at once; the first that fails cancels the others."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Self


class AtOnce:
    """Runs at most `most` tasks at a time.

    When the block ends, all of them have finished or been cancelled.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._running: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, failure: type[BaseException] | None, *_: object) -> None:
        try:
            while self._running and failure is None:
                await self._some_done()
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    async def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a task, and wait until another one has room. Raises what a task raised."""
        self._running.add(asyncio.create_task(work))
        if len(self._running) >= self._most:
            await self._some_done()

    async def _some_done(self) -> None:
        done, self._running = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
