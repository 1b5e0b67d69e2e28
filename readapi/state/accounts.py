"""The accounts linked in one session, one of them active."""

from dataclasses import dataclass

from sqlalchemy import delete, exists, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.state.database import Database
from readapi.state.grants import GrantId
from readapi.state.tables import accounts, sessions
from schemas.ids import Did, Handle


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody who signed in, and the grant that this sign-in brought."""

    did: Did
    handle: Handle
    grant_id: GrantId


@dataclass(frozen=True, slots=True)
class LinkedAccount(Account):
    """An account as its session has it."""

    active: bool


class Accounts:
    """Which accounts a session has. Sessions are named by key."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, session_key: bytes) -> list[LinkedAccount]:
        """All accounts of a session, in the order in which they were linked."""
        found = (
            select(accounts, sessions.c.active_did)
            .join(sessions, sessions.c.key == accounts.c.session_key)
            .where(accounts.c.session_key == session_key)
            .order_by(accounts.c.linked_at, accounts.c.did)
        )
        async with self._database.reading() as connection:
            rows = (await connection.execute(found)).all()
        return [LinkedAccount(row.did, row.handle, row.grant_id, row.did == row.active_did) for row in rows]

    async def link(self, session_key: bytes, account: Account) -> GrantId | None:
        """Add an account and make it the active one; returns the grant that its new one replaces, if any.

        Raises LookupError when the session is gone.
        """
        async with self._database.writing() as connection:
            if not await _activate(connection, session_key, account.did):
                raise LookupError("The session has ended meanwhile.")
            replaced = await _unlink(connection, session_key, account.did)
            await add(connection, session_key, account, self._database)
        return replaced

    async def switch(self, session_key: bytes, did: Did) -> bool:
        """Make a linked account the active one; False when it is not linked."""
        linked = exists().where(accounts.c.session_key == session_key, accounts.c.did == did)
        change = update(sessions).where(sessions.c.key == session_key, linked).values(active_did=did)
        async with self._database.writing() as connection:
            return (await connection.execute(change)).rowcount == 1

    async def drop(self, session_key: bytes, did: Did) -> GrantId | None:
        """Take an account out of its session; returns its grant, to be revoked.

        The longest linked of the others becomes active if it was; with the last account the session ends.
        """
        async with self._database.writing() as connection:
            dropped = await _unlink(connection, session_key, did)
            left = (
                select(accounts.c.did)
                .where(accounts.c.session_key == session_key)
                .order_by(accounts.c.linked_at, accounts.c.did)
                .limit(1)
            )
            first = (await connection.execute(left)).scalar_one_or_none()
            if first is None:
                await connection.execute(delete(sessions).where(sessions.c.key == session_key))
            else:
                was_active = (sessions.c.key == session_key) & (sessions.c.active_did == did)
                await connection.execute(update(sessions).where(was_active).values(active_did=first))
        return dropped


async def add(connection: AsyncConnection, session_key: bytes, account: Account, database: Database) -> None:
    """Link an account within a transaction that somebody else began."""
    row = {"did": account.did, "handle": account.handle, "grant_id": account.grant_id}
    await connection.execute(
        accounts.insert().values(session_key=session_key, linked_at=database.now(), **row)
    )


async def _activate(connection: AsyncConnection, session_key: bytes, did: Did) -> bool:
    change = update(sessions).where(sessions.c.key == session_key).values(active_did=did)
    return (await connection.execute(change)).rowcount == 1


async def _unlink(connection: AsyncConnection, session_key: bytes, did: Did) -> GrantId | None:
    linked = (accounts.c.session_key == session_key) & (accounts.c.did == did)
    found = await connection.execute(delete(accounts).where(linked).returning(accounts.c.grant_id))
    return found.scalar_one_or_none()
