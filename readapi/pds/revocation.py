"""Revokes grants that no session or token uses any more: at once, and by a periodic sweep."""

import asyncio
from collections.abc import Iterable, Iterator

from readapi.pds.refresh import TokenRefresh
from readapi.state.sign_in.grants import GrantId
from readapi.state.state import State

PATIENCE_SECONDS = 3.0  # that signing out waits for the server
AT_ONCE = 16  # concurrent revocations in a sweep


class Revocation:
    """Revokes in the background. The next sweep retries what failed."""

    def __init__(self, state: State, renewal: TokenRefresh) -> None:
        self._state = state
        self._renewal = renewal
        self._under_way: set[asyncio.Task[None]] = set()

    async def revoke(self, grant_ids: Iterable[GrantId]) -> None:
        """Revoke these grants; returns when done, or after PATIENCE_SECONDS."""
        tasks = {asyncio.create_task(self._renewal.revoke(grant_id)) for grant_id in grant_ids}
        self._under_way |= tasks
        for task in tasks:
            task.add_done_callback(self._under_way.discard)
        if tasks:
            await asyncio.wait(tasks, timeout=PATIENCE_SECONDS)

    async def sweep(self) -> None:
        """Delete expired sessions, and revoke every unused grant."""
        await self._state.sessions.remove_expired()
        left = iter(await self._state.grants.forgotten())
        await asyncio.gather(*(self._work_off(left) for _ in range(AT_ONCE)))

    async def _work_off(self, grant_ids: Iterator[GrantId]) -> None:
        for grant_id in grant_ids:
            await self._renewal.revoke(grant_id)

    async def close(self) -> None:
        """Wait for running revocations."""
        await asyncio.gather(*self._under_way, return_exceptions=True)
