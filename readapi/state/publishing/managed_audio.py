"""Managed audio: originals in this service's store instead of the artist's server, by track."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, Select, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.state.db.database import Database
from readapi.state.db.tables import managed_audio
from readapi.state.publishing import stored_files
from readapi.state.publishing.file_keys import original_key, rendition_key
from readapi.state.publishing.stored_files import Release
from schemas.audio import RENDITION_TYPE
from schemas.ids import Did

MOST_OF_A_FILE = 100  # tracks with the same file, of any accounts
REPLACED = Release("replaced")


@dataclass(frozen=True, slots=True)
class Managed:
    """A track's original in the store. `file_id`: SHA-256 in hex; `duration`: seconds.

    `rendition_type`: the file type of its rendition, if there is one.
    """

    track_uri: str
    did: Did
    file_id: str
    file_type: str
    mime_type: str
    bytes: int
    duration: int | None
    rendition_type: str | None


class ManagedAudio:
    """One row for each track whose original is in the store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, track_uri: str) -> Managed | None:
        """The original of a track; None: it is not in this store."""
        async with self._database.reading() as connection:
            row = (await connection.execute(_of_track(track_uri))).one_or_none()
        return None if row is None else _present(row)

    async def sizes(self, track_uris: Collection[str]) -> dict[tuple[str, str], int]:
        """The bytes of these tracks' originals, by track and file id; those in this store alone."""
        if not track_uris:
            return {}
        which = select(managed_audio.c.track_uri, managed_audio.c.file_id, managed_audio.c.bytes)
        asked = which.where(managed_audio.c.track_uri.in_(track_uris))
        async with self._database.reading() as connection:
            rows = (await connection.execute(asked)).all()
        return {(row.track_uri, row.file_id): row.bytes for row in rows}

    async def of_file(self, file_id: str) -> list[Managed]:
        """The tracks with this file, at most MOST_OF_A_FILE."""
        which = select(managed_audio).where(managed_audio.c.file_id == file_id)
        first = which.order_by(managed_audio.c.track_uri).limit(MOST_OF_A_FILE)
        async with self._database.reading() as connection:
            rows = (await connection.execute(first)).all()
        return [_present(row) for row in rows]

    async def put(self, managed: Managed) -> None:
        """Set a track's original, and release the one before."""
        now = self._database.now()
        async with self._database.writing() as connection:
            before = (await connection.execute(_of_track(managed.track_uri))).one_or_none()
            row = {**asdict(managed), "held_since": now}
            await connection.execute(self._database.upsert(managed_audio, row))
            rendition = rendition_key(managed.file_id, RENDITION_TYPE)
            await stored_files.hold_files(connection, original_key(managed.file_id), rendition)
            if before is not None and before.file_id != managed.file_id:
                await _release_original(connection, now, before, REPLACED)

    async def remove(
        self, track_uri: str, release: Release, held_before: datetime | None = None
    ) -> list[str]:
        """Remove a track's original unless it was set since `held_before`. Returns the released files."""
        now = self._database.now()
        removing = delete(managed_audio).where(managed_audio.c.track_uri == track_uri)
        if held_before is not None:
            removing = removing.where(managed_audio.c.held_since < held_before)
        async with self._database.writing() as connection:
            removed = (await connection.execute(removing.returning(managed_audio))).all()
            return [row.file_id for row in removed if await _release_original(connection, now, row, release)]


def _of_track(track_uri: str) -> Select[Any]:
    return select(managed_audio).where(managed_audio.c.track_uri == track_uri)


async def _release_original(
    connection: AsyncConnection, now: datetime, row: Row[Any], release: Release
) -> bool:
    was = {"managed": asdict(_present(row))}
    return await stored_files.release_file(connection, now, row.file_id, release, row.track_uri, was)


def _present(row: Row[Any]) -> Managed:
    return Managed(**{name: getattr(row, name) for name in Managed.__slots__})
