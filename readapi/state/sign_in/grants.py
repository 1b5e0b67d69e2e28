"""Stored grants: one row per sign-in, encrypted."""

import dataclasses
import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NewType

from pydantic import TypeAdapter
from sqlalchemy import ColumnElement, delete, exists, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.oauth.grant import Grant, Tokens
from readapi.state.db.database import Database
from readapi.state.db.encryption import Encryption, Undecryptable, read_unsealed
from readapi.state.db.tables import accounts, developer_tokens, grants
from schemas.ids import Did, Handle

GrantId = NewType("GrantId", str)
SETTLING = timedelta(hours=1)  # a grant unused for that long is due for revocation
PATIENCE = timedelta(days=3)  # with a server that cannot be reached to revoke a grant
MOST_FORGOTTEN = 1000  # per sweep
UNUSED = "This grant is no longer in use."

_GRANT = TypeAdapter(Grant)


@dataclasses.dataclass(frozen=True, slots=True)
class Held:
    """A stored grant. `grant` is None once it has ended, and then `ended_because` is a sentence."""

    id: GrantId
    grant: Grant | None
    version: int
    ended_because: str | None


class GrantStore:
    """Stores grants, each encrypted and bound to its row."""

    def __init__(self, database: Database, vault: Encryption) -> None:
        self._database = database
        self._vault = vault

    async def add(self, grant: Grant) -> GrantId:
        """Store a new grant."""
        grant_id, now = GrantId(uuid.uuid4().hex), self._database.now()
        values = {"id": grant_id, "did": grant.did, "version": 1, "created_at": now, "refreshed_at": now}
        async with self._database.writing() as connection:
            await connection.execute(grants.insert().values(**values, **self._sealed(grant_id, grant)))
        return grant_id

    async def find(self, grant_id: GrantId) -> Held | None:
        """One grant, ended or not. Raises Unreadable when none of our keys opens it."""
        columns = (grants.c.sealed, grants.c.version, grants.c.ended_because)
        async with self._database.reading() as connection:
            row = (await connection.execute(select(*columns).where(grants.c.id == grant_id))).one_or_none()
        if row is None:
            return None
        grant = None if row.sealed is None else self._open(grant_id, row.sealed)
        return Held(grant_id, grant, row.version, row.ended_because)

    async def replace_tokens(self, held: Held, tokens: Tokens) -> bool:
        """Store refreshed tokens; False when the grant has changed since it was read, or is gone."""
        assert held.grant is not None
        grant = dataclasses.replace(held.grant, tokens=tokens)
        values = {"version": held.version + 1, "refreshed_at": self._database.now()}
        change = update(grants).where(_unchanged(held)).values(**values, **self._sealed(held.id, grant))
        async with self._database.writing() as connection:
            return (await connection.execute(change)).rowcount == 1

    async def end(self, held: Held, because: str) -> bool:
        """End a grant that its server refuses: delete its secrets, keep the reason."""
        values = {"sealed": None, "version": held.version + 1, "ended_because": because}
        change = update(grants).where(_unchanged(held)).values(**values, ended_at=self._database.now())
        async with self._database.writing() as connection:
            return (await connection.execute(change)).rowcount == 1

    async def remove(self, grant_id: GrantId) -> None:
        """Delete an unused grant; only its secrets, while an expired developer token is still listed."""
        now = self._database.now()
        ended = {"sealed": None, "version": grants.c.version + 1, "ended_because": UNUSED, "ended_at": now}
        which = (grants.c.id == grant_id) & ~_in_use(now)
        async with self._database.writing() as connection:
            await connection.execute(delete(grants).where(which, ~_listed()))
            await connection.execute(update(grants).where(which, grants.c.sealed.is_not(None)).values(ended))

    async def forgotten(self) -> list[GrantId]:
        """Unused grants, to be revoked at their servers and removed; those not yet tried first."""
        now = self._database.now()
        settled = grants.c.created_at < now - SETTLING
        is_left = grants.c.sealed.is_not(None) | ~_listed()
        found = select(grants.c.id).where(settled, is_left, ~_in_use(now))
        untried_first = found.order_by(grants.c.ended_at.nulls_first()).limit(MOST_FORGOTTEN)
        async with self._database.reading() as connection:
            return [GrantId(grant_id) for grant_id in (await connection.execute(untried_first)).scalars()]

    async def is_given_up(self, grant_id: GrantId) -> bool:
        """Record a failed revocation of an unused grant; True after PATIENCE."""
        now = self._database.now()
        first = (grants.c.id == grant_id) & grants.c.ended_at.is_(None) & ~_in_use(now)
        async with self._database.writing() as connection:
            await connection.execute(update(grants).where(first).values(ended_at=now))
            since = await connection.execute(select(grants.c.ended_at).where(grants.c.id == grant_id))
            return (since.scalar_one_or_none() or now) <= now - PATIENCE

    async def note_handle(self, did: Did, handle: Handle) -> None:
        """Update an account's handle wherever it is stored."""
        async with self._database.writing() as connection:
            for table in (accounts, developer_tokens):
                stale = (table.c.did == did) & (table.c.handle != handle)
                await connection.execute(update(table).where(stale).values(handle=handle))

    async def reseal(self) -> int:
        """Re-encrypt with the newest key what an older one encrypted; returns the number of grants."""
        stale = select(grants.c.id).where(
            grants.c.sealed_with != self._vault.newest_key, grants.c.sealed.is_not(None)
        )
        async with self._database.reading() as connection:
            stale_ids = (await connection.execute(stale)).scalars().all()
        done = [await self._reseal_one(GrantId(grant_id)) for grant_id in stale_ids]
        return sum(done)

    async def _reseal_one(self, grant_id: GrantId) -> bool:
        async with self._database.writing() as connection:
            sealed = await _sealed_now(connection, grant_id)
            try:
                grant = None if sealed is None else self._open(grant_id, sealed)
            except Undecryptable:
                return False  # its key may be configured again
            if grant is None:
                return False
            change = update(grants).where(grants.c.id == grant_id)
            await connection.execute(change.values(**self._sealed(grant_id, grant)))
            return True

    def _sealed(self, grant_id: GrantId, grant: Grant) -> Mapping[str, object]:
        return {
            "scopes": " ".join(sorted(grant.tokens.scopes)),
            "sealed": self._vault.seal(_GRANT.dump_json(grant), _row(grant_id)),
            "sealed_with": self._vault.newest_key,
        }

    def _open(self, grant_id: GrantId, sealed: bytes) -> Grant:
        return read_unsealed(_GRANT, self._vault.open(sealed, _row(grant_id)))


def scopes_of(text: str) -> frozenset[str]:
    """Parse stored scopes."""
    return frozenset(text.split())


def _row(grant_id: GrantId) -> str:
    return f"grants/{grant_id}"


def _unchanged(held: Held) -> ColumnElement[bool]:
    return (grants.c.id == held.id) & (grants.c.version == held.version)


def _in_use(now: datetime) -> ColumnElement[bool]:
    """SQL: used by a session's account, or by a developer token that has not expired."""
    by_token = developer_tokens.c.grant_id == grants.c.id
    lasting = exists().where(by_token, developer_tokens.c.expires_at > now)
    return exists().where(accounts.c.grant_id == grants.c.id) | lasting


def _listed() -> ColumnElement[bool]:
    """SQL: belongs to a developer token, expired or not."""
    return exists().where(developer_tokens.c.grant_id == grants.c.id)


async def _sealed_now(connection: AsyncConnection, grant_id: GrantId) -> bytes | None:
    """Lock the row until the transaction ends, so that a concurrent refresh is not overwritten."""
    found = await connection.execute(select(grants.c.sealed).where(grants.c.id == grant_id).with_for_update())
    return found.scalar_one_or_none()
