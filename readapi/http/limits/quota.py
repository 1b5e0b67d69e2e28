"""Limits on an account's unfinished uploads and jobs, so that no account fills the store or queue alone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import NamedTuple

from readapi.errors import RateLimited
from readapi.http.limits.disk_reservations import DiskReservations, Reservation, ReservedBytes
from readapi.state.state import State
from schemas.ids import Did
from schemas.settings import Settings

RETRY_AFTER = {"Retry-After": "60"}
MOST_ARRIVALS = 256  # files being received by all workers together
ARRIVALS_OF_ONE = 16  # of one account among them, so that a few accounts cannot use up the total


class Quota:
    """Counts under a lock per account, so that concurrent requests cannot exceed a limit."""

    def __init__(self, settings: Settings, state: State) -> None:
        self._settings = settings
        self._state = state
        self._reservations = DiskReservations(settings.data_dir)

    @asynccontextmanager
    async def upload(self, did: Did, size: int) -> AsyncIterator[None]:
        """Check room for one more upload of `size` bytes, which the block stores. Raises RateLimited."""
        async with self._state.locks.holding(f"uploads {did}"):
            self._check(*await self._state.uploads.waiting(did), size)
            yield

    def room(self, did: Did) -> "UploadRoom":
        """The account's allowance for one upload while it is received."""
        return UploadRoom(self, did)

    async def begin(self, did: Did, most_bytes: int) -> Reservation:
        """See `Room.begin`."""
        async with self._state.locks.holding(f"uploads {did}"):
            check = partial(self._check_coming, *await self._state.uploads.waiting(did))
            return await asyncio.to_thread(self._reservations.begin, did, most_bytes, check)

    async def grow(self, did: Did, reservation: Reservation, size: int) -> None:
        """See `Room.grow`."""
        async with self._state.locks.holding(f"uploads {did}"):
            check = partial(self._check_coming, *await self._state.uploads.waiting(did))
            await asyncio.to_thread(self._reservations.grow, reservation, size, check)

    @asynccontextmanager
    async def job(self, did: Did) -> AsyncIterator[None]:
        """Check room for one more publishing job, which the block queues. Raises RateLimited."""
        async with self._state.locks.holding(f"jobs {did}"):
            count = await self._state.jobs.unfinished(did)
            if count >= self._settings.jobs_waiting:
                raise _too_many(f"{count} publishing jobs of yours are not finished yet")
            yield

    def _check_coming(self, count: int, waiting: int, size: int, held: ReservedBytes) -> None:
        """The same including files being received, and free space on the disk. Raises RateLimited."""
        self._check(count + held.files, waiting + held.bytes, size)
        if held.files >= ARRIVALS_OF_ONE:
            raise _too_many(f"{held.files} files of yours are on their way")
        if held.files_of_all >= MOST_ARRIVALS or size > held.free_bytes:
            raise RateLimited(
                "There is no disk space for more files at the moment; try again later.", headers=RETRY_AFTER
            )

    def _check(self, count: int, waiting: int, size: int) -> None:
        """Is there room for `size` bytes beside `count` uploads with `waiting` bytes? Raises RateLimited."""
        if count >= self._settings.uploads_waiting:
            raise _too_many(f"{count} uploads of yours are not finished yet")
        if size and waiting and waiting + size > self._settings.uploads_waiting_bytes:
            raise _too_many(f"Uploads of yours with {waiting:,} bytes are not finished yet")


class UploadRoom(NamedTuple):
    """Allowance for one account's upload while it is received: refuses it as soon as it is too long."""

    quota: Quota
    did: Did

    async def begin(self, most_bytes: int) -> Reservation:
        """Reserve space for at most `most_bytes`; 0: the length is unknown. Raises RateLimited."""
        return await self.quota.begin(self.did, most_bytes)

    async def grow(self, reservation: Reservation, size: int) -> None:
        """Enlarge the reservation to `size` bytes in total. Raises RateLimited."""
        await self.quota.grow(self.did, reservation, size)


def _too_many(what: str) -> RateLimited:
    return RateLimited(f"{what}; try again when some are.", headers=RETRY_AFTER)
