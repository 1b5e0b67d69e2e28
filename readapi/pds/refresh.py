"""Refreshes grants: one process at a time, and committed even if the request that needed it is gone.

A refresh token works once. A server takes its second use for theft and revokes the whole grant, so two
processes must never use the same one: each holds the grant's lock while it asks and until it has committed.
Locks end with their process (`state/db/locks.py`), never by time, so a slow answer is not requested twice.
The process waits as long as an answer may reasonably take (`oauth/client.py`), even if no request waits for
it any more. Without an answer, the stored token is the only one there is, and the next attempt uses it: it
works if the server never received the first request; if it did, there is nothing left to lose.

Between a server's answer and our commit the new token exists in one process's memory only; if that process
dies, no retry brings it back. Therefore refreshes are not done in the processes that serve requests, but in
one beside each (`refresh_process.py`), which outlives it: kill -9 of a worker at any instant loses nothing.
If the refresh process itself is killed, or the machine loses power, in the milliseconds of that gap, the
stored token is tried once more. That is right in both cases: if the server had not received the request, it
works; if it had, the grant was lost already, ends with a reason, and signing in again restores it. Sessions,
linked accounts and developer tokens stay in every case.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol

import structlog
from sqlalchemy.exc import SQLAlchemyError

from readapi.oauth.errors import OAuthError, OAuthRefused
from readapi.oauth.grant import Grant, Tokens
from readapi.oauth.throttle import KeyedSlots
from readapi.pds.grants import Ended, find_usable, grant_of, is_due
from readapi.state.db.away import LockLost
from readapi.state.db.database import Clock, utc_now
from readapi.state.db.locks import Locks
from readapi.state.db.transaction import to_its_end
from readapi.state.sign_in.grants import GrantId, GrantStore, Held
from schemas.ids import Did, Handle

log = structlog.get_logger()

# Seconds between attempts to commit new tokens, which cannot be requested again. They are shorter than
# GRACE_SECONDS of the locks: the lock ends with PostgreSQL, and the next process to take it finds the tokens.
PAUSES = (0.05, 0.2, *(1.0,) * 600)


class Servers(Protocol):
    """The requests to authorization servers."""

    async def refresh(self, grant: Grant) -> Tokens:
        """New tokens. Raises Refused: the grant is dead; or Unavailable."""

    async def revoke(self, grant: Grant) -> None:
        """Revoke the grant."""

    async def handle(self, did: Did) -> Handle | None:
        """The account's current handle; None when it could not be resolved."""


class TokenRefresh:
    """Refreshes and revokes under the grant's lock."""

    def __init__(self, store: GrantStore, locks: Locks, servers: Servers, clock: Clock = utc_now) -> None:
        self._turns = KeyedSlots()
        self._store = store
        self._locks = locks
        self._servers = servers
        self._clock = clock

    async def renew(self, grant_id: GrantId, refused: str | None) -> None:
        """Refresh the grant unless another process already has. Raises Ended, or Unavailable: retry later."""
        try:
            await self._renew(grant_id, refused)
        except LockLost:
            await self._renew(grant_id, refused)  # finds what was committed, here or by another process

    async def _renew(self, grant_id: GrantId, refused: str | None) -> None:
        async with self._holding(grant_id) as held:
            if is_due(held, refused, self._clock()):
                # A request that was sent is waited for and committed, also when the lock is lost meanwhile.
                await to_its_end(self._refresh(held))

    async def revoke(self, grant_id: GrantId) -> None:
        """Revoke a grant that no session or token uses any more, and delete it.

        While its server cannot be reached, it stays among the unused grants (`GrantStore.forgotten`), to be
        retried for some days.
        """
        try:
            async with self._holding(grant_id) as held:
                await self._servers.revoke(grant_of(held))
        except (Ended, OAuthRefused):
            pass  # a retry would change nothing
        except OAuthError as error:
            is_given_up = await self._store.is_given_up(grant_id)
            message = "grant never revoked" if is_given_up else "grant not revoked yet"
            log.warning(message, grant=grant_id, reason=error.sentence)
            if not is_given_up:
                return
        await self._store.remove(grant_id)

    @asynccontextmanager
    async def _holding(self, grant_id: GrantId) -> AsyncIterator[Held]:
        """Hold the grant's lock and a slot at its server, and give the stored grant."""
        server = grant_of(await find_usable(self._store, grant_id)).server.issuer
        async with self._turns.at(server), self._locks.holding(lock_of(grant_id)):
            yield await find_usable(self._store, grant_id)

    async def _refresh(self, held: Held) -> None:
        try:
            tokens = await self._servers.refresh(grant_of(held))
        except OAuthRefused as refusal:
            because = refusal.sentence
            await _commit(lambda: self._store.end(held, because))
            raise Ended(because) from refusal
        await _commit(lambda: self._store.replace_tokens(held, tokens))
        await self._note_handle(grant_of(held).did)

    async def _note_handle(self, did: Did) -> None:
        """Update the stored handle: accounts change handles while signed in."""
        handle = await self._servers.handle(did)
        if handle is not None:
            await self._store.note_handle(did, handle)


def lock_of(grant_id: GrantId) -> str:
    """The name of the lock under which a grant is changed."""
    return f"grant {grant_id}"


async def _commit(write: Callable[[], Awaitable[bool]]) -> None:
    """Retry a write while the database cannot be reached: the new tokens cannot be requested again."""
    for pause in PAUSES:
        try:
            await write()
            return
        except (SQLAlchemyError, OSError):
            await asyncio.sleep(pause)
    await write()
