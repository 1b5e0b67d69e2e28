"""Tracks with files in the store: when their records were last reconciled, and the finding."""

from datetime import datetime
from typing import Literal

from sqlalchemy import delete, or_, select, union

from readapi.state.db.database import Database
from readapi.state.db.publishing_tables import kept_tracks, revisions
from readapi.state.db.tables import managed_audio
from schemas.ids import AtUri

Finding = Literal["needed", "gone", "moved"]

_HELD = union(select(managed_audio.c.track_uri), select(revisions.c.track_uri)).subquery("held")


class ReconciledTracks:
    """One row per reconciled track; a finding stands as long as each look repeats it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def due(self, asked_before: datetime, most: int) -> list[AtUri]:
        """Tracks with files that were not reconciled since `asked_before`; the longest waiting first."""
        asked_at = kept_tracks.c.asked_at
        asked = _HELD.outerjoin(kept_tracks, kept_tracks.c.track_uri == _HELD.c.track_uri)
        found = select(_HELD.c.track_uri).select_from(asked)
        waiting = found.where(or_(asked_at.is_(None), asked_at <= asked_before))
        in_order = waiting.order_by(asked_at.asc().nulls_first(), _HELD.c.track_uri).limit(most)
        async with self._database.reading() as connection:
            return [AtUri.parse(uri) for uri in (await connection.execute(in_order)).scalars()]

    async def found(self, track: AtUri, finding: Finding | None) -> datetime | None:
        """Store a finding; None leaves it unchanged. Returns since when the finding stands."""
        now = self._database.now()
        mine = select(kept_tracks).where(kept_tracks.c.track_uri == str(track))
        async with self._database.writing() as connection:
            before = (await connection.execute(mine)).one_or_none()
            since = None if finding is None else now
            if before is not None and finding in (None, before.finding):
                finding, since = before.finding, before.found_since
            row = {"track_uri": str(track), "asked_at": now, "finding": finding, "found_since": since}
            await connection.execute(self._database.upsert(kept_tracks, row))
        return since

    async def forget_others(self) -> None:
        """Delete the rows of tracks that have no files any more."""
        others = kept_tracks.c.track_uri.not_in(select(_HELD.c.track_uri))
        async with self._database.writing() as connection:
            await connection.execute(delete(kept_tracks).where(others))
