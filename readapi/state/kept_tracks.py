"""Tracks that something is kept of in the store: when their records were asked for, and what was found."""

from datetime import datetime
from typing import Literal

from sqlalchemy import delete, or_, select, union

from readapi.state.database import Database
from readapi.state.publishing_tables import kept_tracks, revisions
from readapi.state.tables import managed_audio
from schemas.ids import AtUri

Finding = Literal["needed", "gone", "moved"]

_HELD = union(select(managed_audio.c.track_uri), select(revisions.c.track_uri)).subquery("held")


class KeptTracks:
    """One row for each track that was asked for; a finding stands for as long as each answer repeats it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def due(self, asked_before: datetime, most: int) -> list[AtUri]:
        """Tracks of which anything is kept, not asked for since; those that waited longest come first."""
        asked_at = kept_tracks.c.asked_at
        asked = _HELD.outerjoin(kept_tracks, kept_tracks.c.track_uri == _HELD.c.track_uri)
        found = select(_HELD.c.track_uri).select_from(asked)
        waiting = found.where(or_(asked_at.is_(None), asked_at <= asked_before))
        in_order = waiting.order_by(asked_at.asc().nulls_first(), _HELD.c.track_uri).limit(most)
        async with self._database.reading() as connection:
            return [AtUri.parse(uri) for uri in (await connection.execute(in_order)).scalars()]

    async def found(self, track: AtUri, finding: Finding | None) -> datetime | None:
        """Say what was found, None: nothing, which leaves it as it was. Returns since when it is found so."""
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
        """Drop the rows of tracks that nothing is kept of any more."""
        others = kept_tracks.c.track_uri.not_in(select(_HELD.c.track_uri))
        async with self._database.writing() as connection:
            await connection.execute(delete(kept_tracks).where(others))
