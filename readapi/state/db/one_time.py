"""One-time values: encrypted, found by the hash of a secret, taken at most once, expiring soon."""

import hashlib
import secrets
from datetime import timedelta
from typing import Any, Generic

from pydantic import TypeAdapter
from sqlalchemy import Row, Table, delete, select

from readapi.state.db.database import Database
from readapi.state.db.encryption import Encryption, Kept, Undecryptable, read_unsealed

DEVELOPER_TOKEN = "fmsvc_"  # noqa: S105  # prefix by which people and secret scanners recognize one

_BYTES = 32


class OneTimeStore(Generic[Kept]):
    """One table of one-time values. Of several concurrent `take`s of a value, one succeeds."""

    def __init__(
        self, database: Database, vault: Encryption, table: Table, life: timedelta, kind: TypeAdapter[Kept]
    ) -> None:
        self._kind = kind
        self._database = database
        self._vault = vault
        self._table = table
        self._life = life

    async def put(self, secret: str, kept: Kept) -> None:
        """Store a value under a secret, and delete expired ones."""
        key, now = key_of(secret), self._database.now()
        sealed = self._vault.seal(self._kind.dump_json(kept), self._row(key))
        row = {"key": key, "sealed": sealed, "expires_at": now + self._life}
        async with self._database.writing() as connection:
            await connection.execute(delete(self._table).where(self._table.c.expires_at <= now))
            await connection.execute(self._table.insert().values(row))

    async def find(self, secret: str) -> Kept | None:
        """The value that `take` would return, without taking it."""
        key = key_of(secret)
        found = select(self._table.c.sealed, self._table.c.expires_at).where(self._table.c.key == key)
        async with self._database.reading() as connection:
            return self._opened(key, (await connection.execute(found)).one_or_none())

    async def take(self, secret: str) -> Kept | None:
        """Take the value; None when it is unknown, taken, expired, or its encryption key is gone."""
        key = key_of(secret)
        columns = (self._table.c.sealed, self._table.c.expires_at)
        taking = delete(self._table).where(self._table.c.key == key).returning(*columns)
        async with self._database.writing() as connection:
            return self._opened(key, (await connection.execute(taking)).one_or_none())

    def _opened(self, key: bytes, row: Row[Any, Any] | None) -> Kept | None:
        if row is None or row.expires_at <= self._database.now():
            return None
        try:
            return read_unsealed(self._kind, self._vault.open(row.sealed, self._row(key)))
        except Undecryptable:
            return None  # the user begins again

    def _row(self, key: bytes) -> str:
        return f"{self._table.name}/{key.hex()}"


def new_secret(prefix: str = "") -> str:
    """256 random bits as text that is safe in URLs and headers."""
    return prefix + secrets.token_urlsafe(_BYTES)


def key_of(secret: str) -> bytes:
    """The hash under which a secret is stored. Plain SHA-256 will do: 256 random bits cannot be guessed."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()
