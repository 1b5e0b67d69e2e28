"""Steps that are done again and again beside everything else."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

log = structlog.get_logger()

Step = Callable[[], Awaitable[object] | None]


async def once(step: Step) -> None:
    """Do a step."""
    under_way = step()
    if under_way is not None:
        await under_way


async def repeat(seconds: float, step: Step) -> None:
    """Do a step after each pause, whatever becomes of the last one."""
    while True:
        await asyncio.sleep(seconds)
        try:
            await once(step)
        except Exception:
            log.exception("step failed", step=step.__qualname__)
