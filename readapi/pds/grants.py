"""Grants for use in requests: with a fresh token, or ended with a reason."""

import asyncio
from datetime import datetime, timedelta
from typing import Protocol

from readapi.oauth.errors import Unavailable
from readapi.oauth.grant import Grant
from readapi.state.db.database import Clock, utc_now
from readapi.state.db.encryption import Undecryptable
from readapi.state.sign_in.grants import GrantId, GrantStore, Held

EARLY = timedelta(seconds=60)  # before expiry, a token is refreshed
PATIENCE_SECONDS = 10.0  # that a request waits for a refresh, which then goes on without it


class Ended(Exception):
    """The grant is no longer valid; the message is a sentence for the user, who must sign in again."""


class Renewing(Protocol):
    """Refreshes grants: `TokenRefresh` itself, or `RefreshProcess`, which asks another process."""

    async def renew(self, grant_id: GrantId, refused: str | None) -> None:
        """Return when the stored grant is fresh. Raises Ended, or Unavailable: retry later."""


class Grants:
    """Supplies the grant for each request to an account's server."""

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
        """Wait for running refreshes."""
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    async def _renewed(self, grant_id: GrantId, refused: str | None) -> None:
        """Concurrent requests share one refresh; a cancelled request does not cancel it."""
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
            raise Unavailable("Your server takes too long to answer; try again soon.") from None

    def _settle(self, wanted: tuple[GrantId, str | None], done: asyncio.Task[None]) -> None:
        del self._under_way[wanted]
        if not done.cancelled():
            done.exception()  # retrieved, even when no request waits any more


async def find_usable(store: GrantStore, grant_id: GrantId) -> Held:
    """A grant that has not ended. Raises Ended."""
    try:
        held = await store.find(grant_id)
    except Undecryptable as error:
        raise Ended("Your authorization can no longer be decrypted. Sign in again.") from error
    if held is None:
        raise Ended("You have signed out.")
    if held.grant is None:
        raise Ended(held.ended_because or "Your server no longer accepts your authorization. Sign in again.")
    return held


def grant_of(held: Held) -> Grant:
    """The grant of a stored grant that `find_usable` returned."""
    assert held.grant is not None
    return held.grant


def is_due(held: Held, refused: str | None, now: datetime) -> bool:
    """Is the token about to expire, or the one that was refused?"""
    tokens = grant_of(held).tokens
    return tokens.access_token == refused or tokens.expires_at <= now + EARLY
