"""The audio store that this state database belongs to, and its state."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select

from readapi.state.db.database import Database
from readapi.state.db.publishing_tables import audio_store, stored_files

_ONLY = 1
KEPT = (
    "What was in the audio store when an older state database was restored is kept, deleted tracks too, "
    "until `fmsvc-server trash adopt`."
)


@dataclass(frozen=True, slots=True)
class StoreIdentity:
    """The state database's record of its audio store.

    `edition`: changes whenever a file becomes needed, both here and in the store. `restored_at`: when this
    database was found to be older than the store. `refusal`: why nothing is deleted.
    """

    store_id: str | None = None
    edition: str | None = None
    previous_edition: str | None = None
    restored_at: datetime | None = None
    refusal: str | None = None
    orphans: int | None = None
    orphan_bytes: int | None = None
    counted_at: datetime | None = None


class AudioStores:
    """The one row of the table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self) -> StoreIdentity:
        """The stored row; empty values in a new database."""
        async with self._database.reading() as connection:
            row = (await connection.execute(select(audio_store))).one_or_none()
        if row is None:
            return StoreIdentity()
        return StoreIdentity(**{name: getattr(row, name) for name in StoreIdentity.__slots__})

    async def tell(self, **known: Any) -> None:
        """Update columns of the row."""
        async with self._database.writing() as connection:
            await connection.execute(self._database.upsert(audio_store, {"number": _ONLY, **known}))

    async def start_over(self, **known: Any) -> None:
        """The same, and delete all rows of stored files: this is another store."""
        async with self._database.writing() as connection:
            await connection.execute(delete(stored_files))
            await connection.execute(self._database.upsert(audio_store, {"number": _ONLY, **known}))
