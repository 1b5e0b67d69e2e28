"""What is kept for a short time and taken once: sealed, and found by the hash of a secret."""

from datetime import timedelta
from typing import Any, Generic

from pydantic import TypeAdapter
from sqlalchemy import Row, Table, delete, select

from readapi.state.database import Database
from readapi.state.secret import key_of
from readapi.state.vault import Kept, Unreadable, Vault, read


class Passing(Generic[Kept]):
    """One table of such things. Of several that would take the same one, one gets it."""

    def __init__(
        self, database: Database, vault: Vault, table: Table, life: timedelta, kind: TypeAdapter[Kept]
    ) -> None:
        self._kind = kind
        self._database = database
        self._vault = vault
        self._table = table
        self._life = life

    async def put(self, secret: str, kept: Kept) -> None:
        """Keep it under a secret; what has expired meanwhile goes."""
        key, now = key_of(secret), self._database.now()
        sealed = self._vault.seal(self._kind.dump_json(kept), self._row(key))
        row = {"key": key, "sealed": sealed, "expires_at": now + self._life}
        async with self._database.writing() as connection:
            await connection.execute(delete(self._table).where(self._table.c.expires_at <= now))
            await connection.execute(self._table.insert().values(row))

    async def find(self, secret: str) -> Kept | None:
        """What `take` would return; it stays."""
        key = key_of(secret)
        found = select(self._table.c.sealed, self._table.c.expires_at).where(self._table.c.key == key)
        async with self._database.reading() as connection:
            return self._opened(key, (await connection.execute(found)).one_or_none())

    async def take(self, secret: str) -> Kept | None:
        """What was put, once, in time, and while we have the key that it was sealed with; else None."""
        key = key_of(secret)
        columns = (self._table.c.sealed, self._table.c.expires_at)
        taking = delete(self._table).where(self._table.c.key == key).returning(*columns)
        async with self._database.writing() as connection:
            return self._opened(key, (await connection.execute(taking)).one_or_none())

    def _opened(self, key: bytes, row: Row[Any, Any] | None) -> Kept | None:
        if row is None or row.expires_at <= self._database.now():
            return None
        try:
            return read(self._kind, self._vault.open(row.sealed, self._row(key)))
        except Unreadable:
            return None  # whoever comes begins again

    def _row(self, key: bytes) -> str:
        return f"{self._table.name}/{key.hex()}"
