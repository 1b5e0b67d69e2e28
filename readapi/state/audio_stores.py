"""Which audio store this state database belongs to, and what was found there."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select

from readapi.state.database import Database
from readapi.state.publishing_tables import audio_store, stored_files

_ONLY = 1
KEPT = (
    "What was in the audio store when an older state database was restored is kept, deleted tracks too, "
    "until `fmsvc-server trash adopt`."
)


@dataclass(frozen=True, slots=True)
class Belonging:
    """What the state database knows of its store.

    `edition`: changes whenever something begins to need a file, here and in the store. `restored_at`: when
    this database was found to be older than the store. `refusal`: why nothing is deleted.
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
    """One row."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self) -> Belonging:
        """What is known; of a new database nothing."""
        async with self._database.reading() as connection:
            row = (await connection.execute(select(audio_store))).one_or_none()
        if row is None:
            return Belonging()
        return Belonging(**{name: getattr(row, name) for name in Belonging.__slots__})

    async def tell(self, **known: Any) -> None:
        """Change what is known."""
        async with self._database.writing() as connection:
            await connection.execute(self._database.upsert(audio_store, {"number": _ONLY, **known}))

    async def start_over(self, **known: Any) -> None:
        """The same, and of no file in the store it is known any more that we put it there or released it."""
        async with self._database.writing() as connection:
            await connection.execute(delete(stored_files))
            await connection.execute(self._database.upsert(audio_store, {"number": _ONLY, **known}))
