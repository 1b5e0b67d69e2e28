"""Gives grants back that nobody uses any more: soon after, and now and then whatever was left over."""

import asyncio
from collections.abc import Iterable, Iterator

from readapi.renewal import Renewal
from readapi.state.grants import GrantId
from readapi.state.state import State

PATIENCE_SECONDS = 3.0  # as long as somebody who signs out waits for their server
AT_ONCE = 16  # in a sweep


class Revoking:
    """Works on while nobody waits. What it cannot finish, the next sweep finds again."""

    def __init__(self, state: State, renewal: Renewal) -> None:
        self._state = state
        self._renewal = renewal
        self._under_way: set[asyncio.Task[None]] = set()

    async def revoke(self, grant_ids: Iterable[GrantId]) -> None:
        """Returns when it is done, or takes too long to be waited for."""
        tasks = {asyncio.create_task(self._renewal.revoke(grant_id)) for grant_id in grant_ids}
        self._under_way |= tasks
        for task in tasks:
            task.add_done_callback(self._under_way.discard)
        if tasks:
            await asyncio.wait(tasks, timeout=PATIENCE_SECONDS)

    async def sweep(self) -> None:
        """Forget sessions that are long over, and revoke every grant that nothing uses."""
        await self._state.sessions.remove_expired()
        left = iter(await self._state.grants.forgotten())
        await asyncio.gather(*(self._work_off(left) for _ in range(AT_ONCE)))

    async def _work_off(self, grant_ids: Iterator[GrantId]) -> None:
        for grant_id in grant_ids:
            await self._renewal.revoke(grant_id)

    async def close(self) -> None:
        """Let what has begun come to its end."""
        await asyncio.gather(*self._under_way, return_exceptions=True)
