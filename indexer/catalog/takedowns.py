"""Follows the operator's takedowns, which the API keeps in the state database.

The position is not stored: what is yielded is all that stands, so that reading it twice does no harm, and a
new or rebuilt index begins by reading it.
"""

import asyncio
from collections.abc import AsyncGenerator

import structlog

from schemas.settings import Settings
from schemas.state_reader import Away
from schemas.takedowns import LOOK_SECONDS, open_table

log = structlog.get_logger()


async def follow_takedowns(settings: Settings) -> AsyncGenerator[frozenset[str]]:
    """Yield all subjects that are taken down, first and after each decision, for ever."""
    known: int | None = None
    async with open_table(settings) as table:
        while True:
            try:
                number = await table.newest()
                if number != known:
                    yield frozenset(takedown.subject for takedown in await table.standing())
                    known = number
            except Away as error:
                log.debug("takedowns not read", reason=str(error))
            await asyncio.sleep(LOOK_SECONDS)
