"""Turns to send: a few of all webhooks at once, and fewer of one account's."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from readapi.oauth.throttle import KeyedSlots
from schemas.ids import Did

AT_ONCE: Final = 20  # requests of all webhooks
OF_AN_ACCOUNT: Final = 2  # so that one account's slow receivers do not hold up the others'


class Places:
    """How many requests are under way, in all and for each account."""

    def __init__(self) -> None:
        self._of_all = asyncio.Semaphore(AT_ONCE)
        self._of_accounts = KeyedSlots(OF_AN_ACCOUNT, patience_seconds=None)

    @asynccontextmanager
    async def of(self, did: Did) -> AsyncIterator[None]:
        """Wait for a place for a webhook of this account, and hold it while the block runs."""
        async with self._of_accounts.at(did), self._of_all:
            yield
