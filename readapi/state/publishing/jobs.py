"""Publishing jobs: a change of access, track by track, each with its own outcome."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import Row, delete, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.state.db.claims import UNFINISHED, Claimant, Claims
from readapi.state.db.database import Database
from readapi.state.db.publishing_tables import job_tracks, jobs
from readapi.state.publishing.album_templates import AlbumTemplates
from readapi.state.publishing.uploads import Status
from readapi.state.sign_in.grants import GrantId
from schemas.ids import AtUri, Did
from schemas.publishing import PolicyOrigin, Template

Outcome = Literal["pending", "updated", "failed", "preserved"]
KEPT = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class JobRequest:
    """The requested settings of a track or of an album's tracks, and their origin.

    `replace_overrides`: also for the album's tracks with settings of their own. `narrows`: some audience
    loses access to some track.
    """

    did: Did
    grant_id: GrantId
    settings: Template
    origin: PolicyOrigin
    album: AtUri | None = None
    replace_overrides: bool = False
    narrows: bool = False

    @property
    def is_preserving(self) -> bool:
        """Tracks with settings of their own keep them."""
        return self.album is not None and not self.replace_overrides


@dataclass(frozen=True, slots=True)
class JobTrack:
    """One track of a job. `reason` and `message` say why it failed."""

    uri: AtUri
    id: int
    outcome: Outcome = "pending"
    reason: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One job and its progress."""

    id: str
    asked: JobRequest
    status: Status
    message: str | None
    created_at: datetime
    completed_at: datetime | None
    tracks: tuple[JobTrack, ...]


class KeyTaken(Exception):
    """The idempotency key was used for another request."""


class Jobs:
    """Jobs: queued once per idempotency key, processed track by track, settled once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._album_templates = AlbumTemplates(database)
        self.claims = Claims(database, jobs)

    async def queue(
        self, asked: JobRequest, tracks: Sequence[JobTrack], key: str | None, request_hash: str
    ) -> str:
        """Store a job, and its album's template with it; returns the job's id.

        A key that was used for the same request returns the job of that time. Raises KeyTaken.
        """
        if key is not None and (made := await self.made_by(asked.did, key, request_hash)) is not None:
            return made
        try:
            return await self._insert(asked, tracks, key, request_hash)
        except IntegrityError:  # the same key, concurrently
            assert key is not None
            made = await self.made_by(asked.did, key, request_hash)
            assert made is not None
            return made

    async def made_by(self, did: Did, key: str, request_hash: str) -> str | None:
        """The job that this key created. Raises KeyTaken when that was another request."""
        found = select(jobs.c.id, jobs.c.request_hash).where(jobs.c.did == did, jobs.c.idempotency_key == key)
        async with self._database.reading() as connection:
            row = (await connection.execute(found)).one_or_none()
        if row is not None and row.request_hash != request_hash:
            raise KeyTaken
        return None if row is None else row.id

    async def find(self, job_id: str) -> Job | None:
        """One job, of any account."""
        async with self._database.reading() as connection:
            row = (await connection.execute(select(jobs).where(jobs.c.id == job_id))).one_or_none()
            return None if row is None else _read(row, await _tracks(connection, job_id))

    async def newest(self, did: Did, most: int) -> list[Job]:
        """An account's latest jobs, newest first."""
        found = select(jobs).where(jobs.c.did == did)
        in_order = found.order_by(jobs.c.created_at.desc(), jobs.c.id).limit(most)
        async with self._database.reading() as connection:
            rows = (await connection.execute(in_order)).all()
            return [_read(row, await _tracks(connection, row.id)) for row in rows]

    async def unfinished(self, did: Did) -> int:
        """How many jobs of an account are not settled."""
        found = select(func.count()).where(jobs.c.did == did, jobs.c.status.in_(UNFINISHED))
        async with self._database.reading() as connection:
            return int((await connection.execute(found)).scalar_one())

    async def settle_track(self, job_id: str, claimant: Claimant, track: JobTrack) -> bool:
        """Store one track's outcome, once; False when another process has claimed the job.

        Attempts are counted per track: for the next one this claim is the first.
        """
        waits = (job_tracks.c.job_id == job_id) & (job_tracks.c.track_uri == str(track.uri))
        told = {"outcome": track.outcome, "reason": track.reason, "message": track.message}
        async with self._database.writing() as connection:
            afresh = update(jobs).where(self.claims.held(job_id, claimant)).values(tries=1, tried_since=None)
            if (await connection.execute(afresh)).rowcount != 1:
                return False
            change = update(job_tracks).where(waits, job_tracks.c.outcome == "pending")
            return (await connection.execute(change.values(told))).rowcount == 1

    async def complete(self, job_id: str, claimant: Claimant, status: Status, message: str) -> None:
        """Settle a job whose tracks all have outcomes."""
        done = {"status": status, "message": message, "completed_at": self._database.now()}
        async with self._database.writing() as connection:
            await connection.execute(update(jobs).where(self.claims.held(job_id, claimant)).values(done))

    async def forget_old(self) -> None:
        """Delete jobs that were settled long ago."""
        over = jobs.c.completed_at <= self._database.now() - KEPT
        async with self._database.writing() as connection:
            await connection.execute(delete(jobs).where(over))

    async def _insert(
        self, asked: JobRequest, tracks: Sequence[JobTrack], key: str | None, request_hash: str
    ) -> str:
        row = {
            "id": uuid.uuid4().hex,
            "did": asked.did,
            "grant_id": asked.grant_id,
            "album_uri": None if asked.album is None else str(asked.album),
            "settings": asked.settings.model_dump_json(),
            "origin": asked.origin,
            "replace_overrides": asked.replace_overrides,
            "narrows": asked.narrows,
            "idempotency_key": key,
            "request_hash": request_hash,
            "status": "pending",
            "created_at": self._database.now(),
        }
        async with self._database.writing() as connection:
            await connection.execute(jobs.insert().values(row))
            if tracks:
                await connection.execute(job_tracks.insert(), _rows(row["id"], tracks))
            if asked.album is not None:
                own = asked.settings if asked.origin == "album" else None
                await connection.execute(self._album_templates.putting(asked.album, own))
        return str(row["id"])


def _rows(job_id: object, tracks: Sequence[JobTrack]) -> list[dict[str, object]]:
    return [
        {
            "job_id": job_id,
            "position": position,
            "track_uri": str(track.uri),
            "track_id": track.id,
            "outcome": track.outcome,
        }
        for position, track in enumerate(tracks)
    ]


async def _tracks(connection: AsyncConnection, job_id: str) -> tuple[JobTrack, ...]:
    in_order = select(job_tracks).where(job_tracks.c.job_id == job_id).order_by(job_tracks.c.position)
    rows = (await connection.execute(in_order)).all()
    return tuple(
        JobTrack(AtUri.parse(row.track_uri), row.track_id, row.outcome, row.reason, row.message)
        for row in rows
    )


def _read(row: Row[Any], tracks: tuple[JobTrack, ...]) -> Job:
    settings = Template.model_validate_json(row.settings)
    album = None if row.album_uri is None else AtUri.parse(row.album_uri)
    how = (album, row.replace_overrides, row.narrows)
    asked = JobRequest(row.did, row.grant_id, settings, row.origin, *how)
    return Job(row.id, asked, row.status, row.message, row.created_at, row.completed_at, tracks)
