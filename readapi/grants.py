"""Grants as requests use them: fresh, or ended with a reason."""

import asyncio
from datetime import datetime, timedelta
from typing import Protocol

from readapi.oauth.errors import Unavailable
from readapi.oauth.grant import Grant
from readapi.state.database import Clock, utc_now
from readapi.state.grants import GrantId, GrantStore, Held
from readapi.state.vault import Unreadable

EARLY = timedelta(seconds=60)  # refreshed so long before it expires
PATIENCE_SECONDS = 10.0  # of a request; what it waited for goes on


class Ended(Exception):
    """The grant is of no use any more; the message is a sentence for a person, who must sign in again."""


class Renewing(Protocol):
    """Whoever refreshes grants: `Renewal` itself, or the `Keeper` that asks another process."""

    async def renew(self, grant_id: GrantId, refused: str | None) -> None:
        """Return when what is stored is fresh. Raises Ended, or Unavailable: try again later."""


class Grants:
    """Every call made for a person begins here."""

    def __init__(
        self,
        store: GrantStore,
        renewing: Renewing,
        clock: Clock = utc_now,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._patience_seconds = patience_seconds
        self._store = store
        self._renewing = renewing
        self._clock = clock
        self._under_way: dict[tuple[GrantId, str | None], asyncio.Task[None]] = {}

    async def fresh(self, grant_id: GrantId, *, refused: str | None = None) -> Grant:
        """The grant, refreshed if it is about to expire or its server `refused` this access token.

        Raises Ended, or Unavailable: try again later.
        """
        held = await find_usable(self._store, grant_id)
        if not is_due(held, refused, self._clock()):
            return grant_of(held)
        try:
            await self._renewed(grant_id, refused)
        except Unavailable:
            if refused is None and grant_of(held).tokens.expires_at > self._clock():
                return grant_of(held)
            raise
        return grant_of(await find_usable(self._store, grant_id))

    async def close(self) -> None:
        """Let renewals that are under way come to their end."""
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    async def _renewed(self, grant_id: GrantId, refused: str | None) -> None:
        """Requests that want the same wait for one; whoever of them gives up stops nothing."""
        wanted = grant_id, refused
        task = self._under_way.get(wanted)
        if task is None:
            task = asyncio.create_task(self._renewing.renew(grant_id, refused))
            self._under_way[wanted] = task
            task.add_done_callback(lambda done: self._settle(wanted, done))
        try:
            async with asyncio.timeout(self._patience_seconds):
                await asyncio.shield(task)
        except TimeoutError:
            raise Unavailable("Your server takes too long to answer; try again in a moment.") from None

    def _settle(self, wanted: tuple[GrantId, str | None], done: asyncio.Task[None]) -> None:
        del self._under_way[wanted]
        if not done.cancelled():
            done.exception()  # seen, even when everybody who waited has left


async def find_usable(store: GrantStore, grant_id: GrantId) -> Held:
    """A grant that has not ended. Raises Ended."""
    try:
        held = await store.find(grant_id)
    except Unreadable as error:
        raise Ended("What you granted cannot be read any more. Sign in again.") from error
    if held is None:
        raise Ended("You have signed out.")
    if held.grant is None:
        raise Ended(held.ended_because or "Your server does not honour the grant any more. Sign in again.")
    return held


def grant_of(held: Held) -> Grant:
    """The grant of one that was found usable."""
    assert held.grant is not None
    return held.grant


def is_due(held: Held, refused: str | None, now: datetime) -> bool:
    """About to expire, or still the token that was refused."""
    tokens = grant_of(held).tokens
    return tokens.access_token == refused or tokens.expires_at <= now + EARLY
