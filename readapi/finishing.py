"""Work that comes to its end though whoever asked for it has gone."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import structlog

from readapi.errors import ApiError

log = structlog.get_logger()

Done = TypeVar("Done")


class Finishing:
    """What changes something is not cut half way by a client that hangs up."""

    def __init__(self) -> None:
        self._under_way: set[asyncio.Task[Any]] = set()

    async def finish(self, work: Coroutine[Any, Any, Done]) -> Done:
        """Do it to its end, even if this is cancelled."""
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_tell)
            raise

    async def close(self, patience_seconds: float) -> None:
        """Wait for what is under way, and give up what takes longer."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=patience_seconds)
        left = list(self._under_way)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


def _tell(done: "asyncio.Task[Any]") -> None:
    """Nobody else hears of what fails then; refusals are for whoever asked."""
    error = None if done.cancelled() else done.exception()
    if error is not None and not isinstance(error, ApiError):
        log.error("failed for a client that had gone", exc_info=error)
