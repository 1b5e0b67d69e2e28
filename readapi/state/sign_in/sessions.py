"""Browser sessions: a secret id and its linked accounts; they expire two weeks after the last use."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.state.db.database import Database
from readapi.state.db.one_time import key_of, new_secret
from readapi.state.db.tables import accounts, grants, sessions
from readapi.state.sign_in.grants import GrantId, scopes_of
from readapi.state.sign_in.linked_accounts import Account, link_account, lock_sessions
from schemas.ids import Did, Handle

LIFE = timedelta(days=14)
RENEWED_AT_MOST_EVERY = timedelta(hours=1)
EXPIRED = "Your session has expired after two weeks without use."

_OF_ACTIVE_ACCOUNT = (
    select(
        sessions.c.key,
        sessions.c.expires_at,
        sessions.c.renewed_at,
        accounts.c.did,
        accounts.c.handle,
        accounts.c.grant_id,
        grants.c.scopes,
        grants.c.ended_because,
    )
    .join(accounts, (accounts.c.session_key == sessions.c.key) & (accounts.c.did == sessions.c.active_did))
    .join(grants, grants.c.id == accounts.c.grant_id)
)


@dataclass(frozen=True, slots=True)
class Session:
    """A session with its active account. `ended_because`: a sentence once it is no longer valid.

    `renewed`: this use extended its life.
    """

    key: bytes = field(repr=False)
    did: Did
    handle: Handle
    grant_id: GrantId
    scopes: frozenset[str]
    expires_at: datetime
    ended_because: str | None
    renewed: bool = False


class Sessions:
    """Sessions: begun by a sign-in, renewed by use, ended by signing out or expiry."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def begin(self, account: Account) -> str:
        """Create a session of one account; returns its secret id, which is not stored."""
        session_id, now = new_secret(), self._database.now()
        times = {"created_at": now, "renewed_at": now, "expires_at": now + LIFE}
        async with self._database.writing() as connection:
            await connection.execute(
                sessions.insert().values(key=key_of(session_id), active_did=account.did, **times)
            )
            await link_account(connection, key_of(session_id), account, self._database)
        return session_id

    async def find(self, session_id: str) -> Session | None:
        """Look up a session by id, and extend its life unless that was done within the hour."""
        key, now = key_of(session_id), self._database.now()
        async with self._database.reading() as connection:
            row = (await connection.execute(_OF_ACTIVE_ACCOUNT.where(sessions.c.key == key))).one_or_none()
        if row is None:
            return None
        expires_at, ended, renewed = row.expires_at, row.ended_because, False
        if expires_at <= now:
            ended = EXPIRED
        elif row.renewed_at <= now - RENEWED_AT_MOST_EVERY:
            expires_at, renewed = await self._renew(row.key, now), True
        whose = row.key, row.did, row.handle, row.grant_id, scopes_of(row.scopes)
        return Session(*whose, expires_at, ended, renewed)

    async def is_good(self, session: Session) -> bool:
        """Is the session still valid for this account? Does not renew it."""
        found = _OF_ACTIVE_ACCOUNT.where(sessions.c.key == session.key, accounts.c.did == session.did)
        async with self._database.reading() as connection:
            row = (await connection.execute(found)).one_or_none()
        return row is not None and row.expires_at > self._database.now() and row.ended_because is None

    async def end(self, key: bytes) -> list[GrantId]:
        """Delete a session; returns the grants of all its accounts, to be revoked."""
        async with self._database.writing() as connection:
            return await _remove(connection, sessions.c.key == key)

    async def end_alone(self, key: bytes, did: Did) -> list[GrantId]:
        """Delete a session that holds no other account; returns its grants, to be revoked."""
        others = select(accounts.c.did).where((accounts.c.session_key == key) & (accounts.c.did != did))
        async with self._database.writing() as connection:
            await lock_sessions(connection, sessions.c.key == key)
            if (await connection.execute(others.limit(1))).first() is not None:
                return []
            return await _remove(connection, sessions.c.key == key)

    async def remove_expired(self) -> list[GrantId]:
        """Delete sessions that expired a while ago; returns their grants, to be revoked."""
        over = sessions.c.expires_at <= self._database.now() - LIFE
        async with self._database.writing() as connection:
            return await _remove(connection, over)

    async def _renew(self, key: bytes, now: datetime) -> datetime:
        # The second condition keeps concurrent requests from writing it many times.
        due = (sessions.c.key == key) & (sessions.c.renewed_at <= now - RENEWED_AT_MOST_EVERY)
        change = update(sessions).where(due).values(renewed_at=now, expires_at=now + LIFE)
        async with self._database.writing() as connection:
            await connection.execute(change)
        return now + LIFE


async def _remove(connection: AsyncConnection, which: ColumnElement[bool]) -> list[GrantId]:
    await lock_sessions(connection, which)
    of_them = accounts.c.session_key.in_(select(sessions.c.key).where(which))
    found = await connection.execute(delete(accounts).where(of_them).returning(accounts.c.grant_id))
    grant_ids = [GrantId(grant_id) for grant_id in found.scalars()]
    await connection.execute(delete(sessions).where(which))
    return grant_ids
