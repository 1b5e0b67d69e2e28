"""Tasks that run for as long as their process: where one ends, the process ends too, to be started again."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import structlog

log = structlog.get_logger()


class TaskEnded(Exception):
    """A background task ended, by an error or without one; the message names it."""


class Background:
    """The background tasks of one process."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def start(self, name: str, work: Coroutine[Any, Any, Any]) -> None:
        """Start a task that is not to end before the process."""
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self._note)
        self._tasks.add(task)

    async def until(self, stop: asyncio.Event) -> None:
        """Wait for the event. Raises TaskEnded as soon as a task has ended."""
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait((stopping, self._ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
        if self._ended.done():
            self._ended.result()

    async def close(self) -> None:
        """Cancel all tasks, and wait for them."""
        for task in self._tasks:
            task.remove_done_callback(self._note)
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._ended.done():
            self._ended.exception()  # retrieved: it was logged

    def _note(self, task: asyncio.Task[Any]) -> None:
        error = None if task.cancelled() else task.exception()
        log.error("background task ended", task=task.get_name(), exc_info=error)
        if not self._ended.done():
            self._ended.set_exception(TaskEnded(f"The background task {task.get_name()!r} ended."))


@asynccontextmanager
async def background() -> AsyncIterator[Background]:
    """Background tasks, which are cancelled when the block ends."""
    tasks = Background()
    try:
        yield tasks
    finally:
        await tasks.close()
