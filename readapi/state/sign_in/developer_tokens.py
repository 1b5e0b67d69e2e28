"""Developer tokens: named and expiring, each with a grant of its own, apart from sessions."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Row, delete, select, update

from readapi.state.db.database import Database
from readapi.state.db.one_time import DEVELOPER_TOKEN, key_of, new_secret
from readapi.state.db.tables import developer_tokens, grants
from readapi.state.sign_in.grants import GrantId, scopes_of
from readapi.state.sign_in.linked_accounts import Account
from schemas.api.auth import DEFAULT_DAYS
from schemas.ids import Did, Handle

USE_NOTED_AT_MOST_EVERY = timedelta(minutes=5)
EXPIRED = "This developer token has expired."

_SHOWN = len(DEVELOPER_TOKEN) + 6  # characters that identify it to its owner; 220 bits stay unknown
_WITH_GRANT = select(developer_tokens, grants.c.scopes, grants.c.ended_because).join(
    grants, grants.c.id == developer_tokens.c.grant_id
)


@dataclass(frozen=True, slots=True)
class DeveloperToken:
    """A token without its secret. `ended_because`: a sentence once it is no longer valid."""

    id: str
    name: str
    prefix: str
    did: Did
    handle: Handle
    grant_id: GrantId
    scopes: frozenset[str]
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime
    ended_because: str | None


class DeveloperTokens:
    """Developer tokens: shown once at creation, stored and found by hash."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, account: Account, name: str, days: int = DEFAULT_DAYS) -> tuple[str, datetime]:
        """Create a token; returns it with its expiry. It cannot be shown again."""
        token, now = new_secret(DEVELOPER_TOKEN), self._database.now()
        row = {
            "id": uuid.uuid4().hex,
            "key": key_of(token),
            "prefix": token[:_SHOWN],
            "name": name,
            "did": account.did,
            "handle": account.handle,
            "grant_id": account.grant_id,
            "created_at": now,
            "expires_at": now + timedelta(days=days),
        }
        async with self._database.writing() as connection:
            await connection.execute(developer_tokens.insert().values(row))
        return token, now + timedelta(days=days)

    async def find(self, token: str) -> DeveloperToken | None:
        """Look up a token, and record its use now and then."""
        key, now = key_of(token), self._database.now()
        async with self._database.reading() as connection:
            row = (await connection.execute(_WITH_GRANT.where(developer_tokens.c.key == key))).one_or_none()
        if row is None:
            return None
        if row.last_used_at is None or row.last_used_at <= now - USE_NOTED_AT_MOST_EVERY:
            await self._note_use(row.id, now)
        return _present(row, now)

    async def is_good(self, token: DeveloperToken) -> bool:
        """Is the token still valid? Does not record a use."""
        found = _WITH_GRANT.where(developer_tokens.c.id == token.id)
        async with self._database.reading() as connection:
            row = (await connection.execute(found)).one_or_none()
        return row is not None and _present(row, self._database.now()).ended_because is None

    async def of(self, did: Did) -> list[DeveloperToken]:
        """All tokens of an account, newest first; invalid ones are listed until their owner removes them."""
        newest_first = (developer_tokens.c.created_at.desc(), developer_tokens.c.id)
        async with self._database.reading() as connection:
            found = _WITH_GRANT.where(developer_tokens.c.did == did).order_by(*newest_first)
            rows = (await connection.execute(found)).all()
        return [_present(row, self._database.now()) for row in rows]

    async def remove(self, did: Did, token_id: str) -> GrantId | None:
        """Delete a token of the account; returns its grant, to be revoked. None: no such token."""
        which = (developer_tokens.c.id == token_id) & (developer_tokens.c.did == did)
        taking = delete(developer_tokens).where(which).returning(developer_tokens.c.grant_id)
        async with self._database.writing() as connection:
            return (await connection.execute(taking)).scalar_one_or_none()

    async def _note_use(self, token_id: str, now: datetime) -> None:
        change = update(developer_tokens).where(developer_tokens.c.id == token_id).values(last_used_at=now)
        async with self._database.writing() as connection:
            await connection.execute(change)


def _present(row: Row[tuple[object, ...]], now: datetime) -> DeveloperToken:
    return DeveloperToken(
        row.id,
        row.name,
        row.prefix,
        row.did,
        row.handle,
        row.grant_id,
        scopes_of(row.scopes),
        row.created_at,
        row.last_used_at,
        row.expires_at,
        EXPIRED if row.expires_at <= now else row.ended_because,
    )
