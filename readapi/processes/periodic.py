"""Runs functions periodically in the background."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

log = structlog.get_logger()

Step = Callable[[], Awaitable[object] | None]


async def run_once(step: Step) -> None:
    """Run a step, and await it if it is asynchronous."""
    under_way = step()
    if under_way is not None:
        await under_way


async def attempt(step: Step) -> None:
    """Run a step once; a failure is logged."""
    try:
        await run_once(step)
    except Exception:
        log.exception("step failed", step=step.__qualname__)


async def repeat(seconds: float, step: Step) -> None:
    """Run a step after each pause, even if the previous run failed."""
    while True:
        await asyncio.sleep(seconds)
        await attempt(step)
