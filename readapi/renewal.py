"""Refreshes a grant: once at a time among all processes, and committed whatever becomes of who asked.

A refresh token works once. A server takes its second use for theft and revokes the whole grant, so two
processes must never use the same one: each holds the grant's lock while it asks and until it has committed.
Locks end with their holder (`state/locks.py`), never by time, so a slow answer is not asked for twice. It is
waited for as long as it may reasonably take (`oauth/client.py`), whoever has lost patience meanwhile. When
none comes even so, or the connection breaks, the token that is stored is the only one there is, and the next
attempt uses it: it works if the server never heard of the first; if it did, there is nothing left to lose.

Between a server's answer and our commit the new token exists in one process's memory only; if that process
dies, no retry brings it back. Therefore refreshes are not done in the processes that serve requests, but in
one beside each (`keeper.py`), which outlives it: kill -9 of a worker at any instant loses nothing. If the
keeper itself is killed, or the machine loses power, in the milliseconds of that gap, the token that is stored
is tried once more. That is right whichever happened: if the server was not asked yet, it works; if it was,
the grant was lost already, ends with a reason, and signing in again restores it. Sessions, linked accounts
and developer tokens stay in every case.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol

import structlog
from sqlalchemy.exc import SQLAlchemyError

from readapi.grants import Ended, find_usable, grant_of, is_due
from readapi.oauth.errors import OAuthError, Refused
from readapi.oauth.grant import Grant, Tokens
from readapi.state.database import Clock, utc_now
from readapi.state.grants import GrantId, GrantStore, Held
from readapi.state.locks import Locks
from readapi.turns import Turns
from schemas.ids import Did, Handle

log = structlog.get_logger()

PAUSES = (
    0.05,
    0.2,
    1.0,
    3.0,
    10.0,
    30.0,
)  # seconds between attempts to commit what cannot be asked for again


class Servers(Protocol):
    """What is asked of authorization servers."""

    async def refresh(self, grant: Grant) -> Tokens:
        """New tokens. Raises Refused: the grant is dead; or Unavailable."""

    async def revoke(self, grant: Grant) -> None:
        """Give the grant back."""

    async def handle(self, did: Did) -> Handle | None:
        """The handle that the account goes by now; None: nobody could say."""


class Renewal:
    """Refreshes and revokes under the grant's lock."""

    def __init__(self, store: GrantStore, locks: Locks, servers: Servers, clock: Clock = utc_now) -> None:
        self._turns = Turns()
        self._store = store
        self._locks = locks
        self._servers = servers
        self._clock = clock

    async def renew(self, grant_id: GrantId, refused: str | None) -> None:
        """Refresh the grant unless somebody was faster. Raises Ended, or Unavailable: try again later."""
        async with self._holding(grant_id) as held:
            if is_due(held, refused, self._clock()):
                await self._refresh(held)

    async def revoke(self, grant_id: GrantId) -> None:
        """Give back a grant that nobody uses any more, and forget it.

        When its server cannot be asked it stays among the forgotten (`GrantStore.forgotten`), to be tried
        again for some days.
        """
        try:
            async with self._holding(grant_id) as held:
                await self._servers.revoke(grant_of(held))
        except (Ended, Refused):
            pass  # asking again would change nothing
        except OAuthError as error:
            is_given_up = await self._store.is_given_up(grant_id)
            told = "grant never revoked" if is_given_up else "grant not revoked yet"
            log.warning(told, grant=grant_id, reason=error.sentence)
            if not is_given_up:
                return
        await self._store.remove(grant_id)

    @asynccontextmanager
    async def _holding(self, grant_id: GrantId) -> AsyncIterator[Held]:
        """The grant, which nobody else changes meanwhile, when it is its turn at its server."""
        server = grant_of(await find_usable(self._store, grant_id)).server.issuer
        async with self._turns.at(server), self._locks.holding(lock_of(grant_id)):
            yield await find_usable(self._store, grant_id)

    async def _refresh(self, held: Held) -> None:
        try:
            tokens = await self._servers.refresh(grant_of(held))
        except Refused as refusal:
            because = refusal.sentence
            await _commit(lambda: self._store.end(held, because))
            raise Ended(because) from refusal
        await _commit(lambda: self._store.replace_tokens(held, tokens))
        await self._note_handle(grant_of(held).did)

    async def _note_handle(self, did: Did) -> None:
        """People change their handles while they are signed in."""
        handle = await self._servers.handle(did)
        if handle is not None:
            await self._store.note_handle(did, handle)


def lock_of(grant_id: GrantId) -> str:
    """The name of the lock under which a grant is changed."""
    return f"grant {grant_id}"


async def _commit(write: Callable[[], Awaitable[bool]]) -> None:
    """Write, again and again while the database cannot be reached: what would be lost cannot be had twice."""
    for pause in PAUSES:
        try:
            await write()
            return
        except (SQLAlchemyError, OSError):
            await asyncio.sleep(pause)
    await write()
