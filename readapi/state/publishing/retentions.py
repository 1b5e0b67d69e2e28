"""Retentions: how long a file that a track released is kept, so that the track can have it back.

Tracks of several artists may share a file. Each has its own retention, so that deleting one track at once
does not end the retention of another; a file is deleted when the longest retention is over.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.state.db.publishing_tables import retentions


@dataclass(frozen=True, slots=True)
class Retention:
    """One track's retention of a file. `held_as`: the file's role for the track, as JSON."""

    until: datetime
    reason: str
    track_uri: str | None = None
    held_as: str | None = None


async def replace_retention(
    connection: AsyncConnection, now: datetime, file_id: str, track_uri: str, retention: Retention
) -> None:
    """Set the retention of a file for a track, in the caller's transaction; none if it is over at once."""
    await end_retention(connection, track_uri, file_id)
    if retention.until > now:
        row = {
            "file_id": file_id,
            "track_uri": track_uri,
            "kept_until": retention.until,
            "reason": retention.reason,
            "held_as": retention.held_as,
        }
        await connection.execute(retentions.insert().values(row))


async def end_retention(connection: AsyncConnection, track_uri: str, file_id: str | None = None) -> None:
    """End a track's retention of one file, or of all, in the caller's transaction."""
    ending = delete(retentions).where(retentions.c.track_uri == track_uri)
    if file_id is not None:
        ending = ending.where(retentions.c.file_id == file_id)
    await connection.execute(ending)


async def longest_retention(connection: AsyncConnection, now: datetime, file_id: str) -> Retention | None:
    """The longest current retention of a file, if any."""
    lasting = (retentions.c.file_id == file_id, retentions.c.kept_until > now)
    found = select(retentions).where(*lasting).order_by(retentions.c.kept_until.desc()).limit(1)
    row = (await connection.execute(found)).one_or_none()
    return None if row is None else Retention(row.kept_until, row.reason, row.track_uri, row.held_as)


async def prune_retentions(connection: AsyncConnection, now: datetime) -> None:
    """Delete the retentions that are over."""
    await connection.execute(delete(retentions).where(retentions.c.kept_until <= now))
