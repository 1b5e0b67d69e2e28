"""The accounts linked in one session, one of them active."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.state.db.database import Database
from readapi.state.db.tables import accounts, sessions
from readapi.state.sign_in.grants import GrantId
from schemas.ids import Did, Handle


@dataclass(frozen=True, slots=True)
class Account:
    """An account that signed in, and the grant of that sign-in."""

    did: Did
    handle: Handle
    grant_id: GrantId


@dataclass(frozen=True, slots=True)
class LinkedAccount(Account):
    """An account as linked in a session."""

    active: bool


class LinkedAccounts:
    """The accounts of each session. Sessions are identified by key."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, session_key: bytes) -> list[LinkedAccount]:
        """All accounts of a session, in the order in which they were linked."""
        async with self._database.reading() as connection:
            return await _all(connection, session_key)

    async def link(self, session_key: bytes, account: Account) -> GrantId | None:
        """Link an account and make it the active one; returns its previous grant, if any, to be revoked.

        Raises LookupError when the session does not exist.
        """
        async with self._changing(session_key) as connection:
            if not await _activate(connection, session_key, account.did):
                raise LookupError("The session has ended in the meantime.")
            replaced = await _unlink(connection, session_key, account.did)
            await link_account(connection, session_key, account, self._database)
        return replaced

    async def switch(self, session_key: bytes, did: Did) -> LinkedAccount | None:
        """Make a linked account the active one; None when it is not linked."""
        async with self._changing(session_key) as connection:
            linked = {one.did: one for one in await _all(connection, session_key)}
            if did not in linked:
                return None
            await _activate(connection, session_key, did)
        return replace(linked[did], active=True)

    async def drop(self, session_key: bytes, did: Did) -> GrantId | None:
        """Unlink an account; returns its grant, to be revoked.

        If it was active, the longest linked of the others becomes so; with the last account the session ends.
        """
        async with self._changing(session_key) as connection:
            dropped = await _unlink(connection, session_key, did)
            left = await _all(connection, session_key)
            if not left:
                await connection.execute(delete(sessions).where(sessions.c.key == session_key))
            elif not any(one.active for one in left):
                await _activate(connection, session_key, left[0].did)
        return dropped

    @asynccontextmanager
    async def _changing(self, session_key: bytes) -> AsyncIterator[AsyncConnection]:
        """A transaction that serializes changes of this session's accounts."""
        async with self._database.writing() as connection:
            await lock_sessions(connection, sessions.c.key == session_key)
            yield connection


async def link_account(
    connection: AsyncConnection, session_key: bytes, account: Account, database: Database
) -> None:
    """Link an account, in the caller's transaction."""
    row = {"did": account.did, "handle": account.handle, "grant_id": account.grant_id}
    await connection.execute(
        accounts.insert().values(session_key=session_key, linked_at=database.now(), **row)
    )


async def lock_sessions(connection: AsyncConnection, which: ColumnElement[bool]) -> None:
    """Lock these sessions and their accounts until the transaction ends."""
    await connection.execute(select(sessions.c.key).where(which).order_by(sessions.c.key).with_for_update())


async def _all(connection: AsyncConnection, session_key: bytes) -> list[LinkedAccount]:
    found = (
        select(accounts, sessions.c.active_did)
        .join(sessions, sessions.c.key == accounts.c.session_key)
        .where(accounts.c.session_key == session_key)
        .order_by(accounts.c.linked_at, accounts.c.did)
    )
    rows = (await connection.execute(found)).all()
    return [LinkedAccount(row.did, row.handle, row.grant_id, row.did == row.active_did) for row in rows]


async def _activate(connection: AsyncConnection, session_key: bytes, did: Did) -> bool:
    change = update(sessions).where(sessions.c.key == session_key).values(active_did=did)
    return (await connection.execute(change)).rowcount == 1


async def _unlink(connection: AsyncConnection, session_key: bytes, did: Did) -> GrantId | None:
    linked = (accounts.c.session_key == session_key) & (accounts.c.did == did)
    found = await connection.execute(delete(accounts).where(linked).returning(accounts.c.grant_id))
    return found.scalar_one_or_none()
