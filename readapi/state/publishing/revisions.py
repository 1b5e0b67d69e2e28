"""Revisions: the last ten earlier versions of a track's audio, each with a copy in the private store."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Column, ColumnElement, Row, Select, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.state.db.database import Database
from readapi.state.db.publishing_tables import revisions
from readapi.state.publishing import stored_files
from readapi.state.publishing.file_keys import original_key
from readapi.state.publishing.stored_files import Release
from readapi.state.publishing.uploads import Audio
from schemas.ids import AtUri
from schemas.publishing import TemplateAccess

MOST = 10
TRIMMED, FAILED = Release("trimmed"), Release("failed")
Storage = Literal["pds", "managed"]


@dataclass(frozen=True, slots=True)
class Revision:
    """An earlier version: its audio, where it was stored, and its access at that time."""

    id: int
    track: AtUri
    audio: Audio
    storage: Storage
    access: TemplateAccess
    created_at: datetime


class Revisions:
    """The revisions of all tracks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, track: AtUri, audio: Audio, storage: Storage, access: TemplateAccess) -> None:
        """Add a revision, once."""
        row = {
            "track_uri": str(track),
            "file_id": audio.file_id,
            "file_type": audio.file_type,
            "mime_type": audio.mime_type,
            "bytes": audio.bytes,
            "duration": audio.duration,
            "audio_storage": storage,
            "access": access.model_dump_json(),
            "created_at": self._database.now(),
        }
        newest = _newest(revisions.c.file_id, track, 1)
        async with self._database.writing() as connection:
            if (await connection.execute(newest)).scalar_one_or_none() != audio.file_id:
                await connection.execute(revisions.insert().values(row))
            await stored_files.hold_files(connection, original_key(audio.file_id))

    async def trim(self, track: AtUri) -> list[str]:
        """Delete the revisions beyond the tenth; returns the released files."""
        kept = _newest(revisions.c.id, track, MOST).scalar_subquery()
        beyond = (revisions.c.track_uri == str(track), revisions.c.id.not_in(kept))
        return await self._drop(TRIMMED, *beyond)

    async def take_back(self, track: AtUri, file_id: str) -> list[str]:
        """Delete the newest revision if it is this file; returns the released files."""
        newest = _newest(revisions.c.id, track, 1).scalar_subquery()
        return await self._drop(FAILED, revisions.c.id == newest, revisions.c.file_id == file_id)

    async def of(self, track: AtUri) -> list[Revision]:
        """All revisions of a track, newest first."""
        found = select(revisions).where(revisions.c.track_uri == str(track)).order_by(revisions.c.id.desc())
        async with self._database.reading() as connection:
            return [_present(row) for row in (await connection.execute(found)).all()]

    async def find(self, track: AtUri, revision_id: int) -> Revision | None:
        """One revision of a track."""
        found = select(revisions).where(revisions.c.track_uri == str(track), revisions.c.id == revision_id)
        async with self._database.reading() as connection:
            row = (await connection.execute(found)).one_or_none()
        return None if row is None else _present(row)

    async def remove(self, track: AtUri, release: Release) -> list[str]:
        """Delete all revisions of a track; returns the released files."""
        return await self._drop(release, revisions.c.track_uri == str(track))

    async def _drop(self, release: Release, *which: ColumnElement[bool]) -> list[str]:
        gone, now = delete(revisions).where(*which).returning(revisions), self._database.now()
        async with self._database.writing() as connection:
            dropped = (await connection.execute(gone)).all()
            return sorted(
                {row.file_id for row in dropped if await _release_revision(connection, now, row, release)}
            )


async def _release_revision(
    connection: AsyncConnection, now: datetime, row: Row[Any], release: Release
) -> bool:
    audio = Audio(row.file_id, row.bytes, row.file_type, row.mime_type, row.duration)
    was = {"revision": {"audio": asdict(audio), "storage": row.audio_storage, "access": row.access}}
    return await stored_files.release_file(connection, now, row.file_id, release, row.track_uri, was)


def _newest(column: Column[Any], track: AtUri, count: int) -> Select[tuple[Any]]:
    of_track = revisions.c.track_uri == str(track)
    return select(column).where(of_track).order_by(revisions.c.id.desc()).limit(count)


def _present(row: Row[tuple[object, ...]]) -> Revision:
    audio = Audio(row.file_id, row.bytes, row.file_type, row.mime_type, row.duration)
    access = TemplateAccess.model_validate_json(row.access)
    return Revision(row.id, AtUri.parse(row.track_uri), audio, row.audio_storage, access, row.created_at)
