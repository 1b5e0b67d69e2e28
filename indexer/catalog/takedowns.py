"""Follows the operator's takedowns, which the API keeps in the state database.

The position is not stored: what is yielded is all that stands, so that reading it twice does no harm, and a
new or rebuilt index begins by reading it.
"""

import asyncio
from collections.abc import AsyncGenerator

import structlog

from schemas.settings import Settings
from schemas.state_reader import Away, Missing
from schemas.takedowns import LOOK_SECONDS, open_table

log = structlog.get_logger()


async def follow_takedowns(settings: Settings) -> AsyncGenerator[frozenset[str] | None]:
    """Yield all subjects that are taken down, first and after each decision, for ever.

    None first, where the table has not been made yet: nothing was decided, and what is known stays.
    """
    known: int | None = None
    is_first = True
    async with open_table(settings) as table:
        while True:
            try:
                number = await table.newest()
                if number != known:
                    yield frozenset(takedown.subject for takedown in await table.standing())
                    known, is_first = number, False
            except Away as error:
                if is_first and isinstance(error, Missing):
                    is_first = False
                    yield None
                log.debug("takedowns not read", reason=str(error))
            await asyncio.sleep(LOOK_SECONDS)
