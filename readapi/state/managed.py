"""Managed audio: originals that are kept here and not at their artist's server, by the track they are of."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Delete, Row, delete, select

from readapi.state.database import Database
from readapi.state.tables import managed_audio
from schemas.ids import Did

MOST_OF_A_FILE = 100  # tracks that one account, or several, made of the same recording


@dataclass(frozen=True, slots=True)
class Managed:
    """A track's original in the store. `file_id`: SHA-256 in hex; `duration`: seconds.

    `rendition_type`: how the name of its rendition ends, when there is one.
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
        """The original of a track; None: it is not kept here."""
        which = select(managed_audio).where(managed_audio.c.track_uri == track_uri)
        async with self._database.reading() as connection:
            row = (await connection.execute(which)).one_or_none()
        return None if row is None else _present(row)

    async def of_file(self, file_id: str) -> list[Managed]:
        """The tracks that are this file, at most MOST_OF_A_FILE."""
        which = select(managed_audio).where(managed_audio.c.file_id == file_id)
        first = which.order_by(managed_audio.c.track_uri).limit(MOST_OF_A_FILE)
        async with self._database.reading() as connection:
            rows = (await connection.execute(first)).all()
        return [_present(row) for row in rows]

    async def put(self, managed: Managed) -> None:
        """Say what a track's original is, whatever it was before."""
        async with self._database.writing() as connection:
            row = {**asdict(managed), "held_since": self._database.now()}
            await connection.execute(self._database.upsert(managed_audio, row))

    async def remove(self, track_uri: str, held_before: datetime | None = None) -> list[str]:
        """Forget a track's original, unless it was put since. Returns the files that no track is any more."""
        which = _of_track(track_uri)
        if held_before is not None:
            which = which.where(managed_audio.c.held_since < held_before)
        async with self._database.writing() as connection:
            removed = await connection.execute(which.returning(managed_audio.c.file_id))
            file_ids = removed.scalars().all()
            kept = select(managed_audio.c.file_id).where(managed_audio.c.file_id.in_(file_ids))
            still_used = set((await connection.execute(kept)).scalars())
        return sorted(set(file_ids) - still_used)


def _of_track(track_uri: str) -> Delete:
    return delete(managed_audio).where(managed_audio.c.track_uri == track_uri)


def _present(row: Row[Any]) -> Managed:
    return Managed(**{name: getattr(row, name) for name in Managed.__slots__})
