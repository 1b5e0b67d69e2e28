"""How much of one account may wait here, so that nobody fills the store or the queue alone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from readapi.bodies import Room
from readapi.errors import RateLimited
from readapi.state.state import State
from schemas.ids import Did
from schemas.settings import Settings

RETRY_AFTER = {"Retry-After": "60"}


class Quota:
    """Counts under a lock for each account: however many requests race, none gets past it."""

    def __init__(self, settings: Settings, state: State) -> None:
        self._settings = settings
        self._state = state

    @asynccontextmanager
    async def upload(self, did: Did, size: int) -> AsyncIterator[None]:
        """Room for one more upload, of so many bytes, to be put within the block. Raises RateLimited."""
        async with self._state.locks.holding(f"uploads {did}"):
            self._check(*await self._state.uploads.waiting(did), size)
            yield

    async def room(self, did: Did) -> Room:
        """What refuses one more upload while it comes, as soon as it is too long. Raises RateLimited."""
        room = partial(self._check, *await self._state.uploads.waiting(did))
        room(0)
        return room

    @asynccontextmanager
    async def job(self, did: Did) -> AsyncIterator[None]:
        """Room for one more publishing job. Raises RateLimited."""
        async with self._state.locks.holding(f"jobs {did}"):
            count = await self._state.jobs.unfinished(did)
            if count >= self._settings.jobs_waiting:
                raise _too_many(f"{count} publishing jobs of yours are not finished yet")
            yield

    def _check(self, count: int, waiting: int, size: int) -> None:
        """Is there room for `size` bytes beside `count` uploads with `waiting` bytes? Raises RateLimited."""
        if count >= self._settings.uploads_waiting:
            raise _too_many(f"{count} uploads of yours are not finished yet")
        if size and waiting and waiting + size > self._settings.uploads_waiting_bytes:
            raise _too_many(f"Uploads of yours with {waiting:,} bytes are not finished yet")


def _too_many(what: str) -> RateLimited:
    return RateLimited(f"{what}; try again when some are.", headers=RETRY_AFTER)
