"""Coroutines started without a task: most reads wait for nothing, and a task would cost more than they do.

`start` runs a coroutine up to its first wait; what is left of it, if anything, is awaited in a task.
"""

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


class Paused(Generic[Result]):
    """A coroutine that has reached its first wait. Awaiting this, once, continues it."""

    def __init__(self, coroutine: Coroutine[Any, Any, Result], wait: Any) -> None:
        self._coroutine = coroutine
        self._wait = wait

    def __await__(self) -> Generator[Any, Any, Result]:
        coroutine, wait = self._coroutine, self._wait
        try:
            while True:
                try:
                    sent = yield wait
                except BaseException as error:  # noqa: BLE001  # of any kind, as a cancellation is
                    wait = coroutine.throw(error)
                else:
                    wait = coroutine.send(sent)
        except StopIteration as done:
            result: Result = done.value
            return result


def start(coroutine: Coroutine[Any, Any, Result]) -> Result | Paused[Result]:
    """Run a coroutine up to its first wait: its result if it needs none."""
    try:
        wait = coroutine.send(None)
    except StopIteration as done:
        result: Result = done.value
        return result
    return Paused(coroutine, wait)


async def in_task() -> None:
    """Continue in a task. Code that needs the current task, such as a timeout, waits for this first."""
    if asyncio.current_task() is None:
        await asyncio.sleep(0)
