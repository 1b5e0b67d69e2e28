"""Files that this service has put into the audio store, and which of them are released.

A file is released when nothing needs it any more, and deleted only if its row says so. Others stay.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

import orjson
from sqlalchemy import ColumnElement, Row, delete, exists, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.state.db.claims import UNFINISHED
from readapi.state.db.database import Database
from readapi.state.db.publishing_tables import revisions, stored_files, uploads
from readapi.state.db.tables import managed_audio
from readapi.state.publishing import retentions
from readapi.state.publishing.file_keys import (
    file_in,
    original_key,
    received_audio,
    received_image,
    rendition_key,
    upload_in,
)
from readapi.state.publishing.retentions import Retention
from schemas.audio import RENDITION_TYPE

Reason = Literal["deleted", "failed", "gone", "interrupted", "moved", "replaced", "settled", "trimmed"]

TRASH = timedelta(days=28)  # in which a released file can be restored
ARRIVING = timedelta(days=7)  # in which a new file must be held by something
AT_ONCE = timedelta(0)


@dataclass(frozen=True, slots=True)
class Release:
    """Why a file is released, and how long it is kept after that."""

    reason: Reason
    kept: timedelta = TRASH


@dataclass(frozen=True, slots=True)
class Released:
    """A released file. `held_as`: its role for the track, if it had one."""

    key: str
    file_id: str | None
    released_at: datetime
    delete_at: datetime
    reason: Reason
    track_uri: str | None
    held_as: dict[str, Any] | None


class StoredFiles:
    """One row per file, written before the file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def expect(self, *keys: str) -> None:
        """Add rows for files about to be stored: released unless something holds them within ARRIVING."""
        now = self._database.now()
        released = {"released_at": now, "delete_at": now + ARRIVING, "reason": "interrupted"}
        async with self._database.writing() as connection:
            for key in keys:
                row = {"key": key, "file_id": None if key.startswith("incoming/") else file_in(key)}
                put = self._database.insert(stored_files).values({**row, **released})
                again = stored_files.c.released_at.is_not(None)
                await connection.execute(
                    put.on_conflict_do_update(index_elements=["key"], set_=released, where=again)
                )

    async def due(self, most: int) -> list[Released]:
        """Released files that are due for deletion, oldest first."""
        return await self._released(stored_files.c.delete_at <= self._database.now(), most=most)

    async def in_trash(self, most: int) -> list[Released]:
        """Released originals, by the time of their deletion."""
        return await self._released(stored_files.c.file_id.is_not(None), most=most)

    async def of_file(self, file_id: str) -> list[Released]:
        """The released ones among a file's original and its rendition."""
        return await self._released(stored_files.c.file_id == file_id, most=10)

    async def known(self, keys: Iterable[str]) -> list[str]:
        """Those of these files that have a row."""
        found = select(stored_files.c.key).where(stored_files.c.key.in_(list(keys)))
        async with self._database.reading() as connection:
            return list((await connection.execute(found)).scalars())

    async def some(self, most: int) -> list[str]:
        """A few of the files that are not released, or of all if there are none."""
        found = select(stored_files.c.key).order_by(stored_files.c.released_at.nulls_first())
        async with self._database.reading() as connection:
            return list((await connection.execute(found.limit(most))).scalars())

    async def spoken_of(self, keys: Iterable[str]) -> set[str]:
        """Those of these files that are needed, or released."""
        keys = list(keys)
        files = {key: upload_in(key) if key.startswith("incoming/") else file_in(key) for key in keys}
        known, names = union_of_files(), set(files.values())
        waiting = select(uploads.c.id).where(uploads.c.id.in_(names), uploads.c.status.in_(UNFINISHED))
        put = (stored_files.c.key.in_(keys), stored_files.c.released_at.is_not(None))
        async with self._database.reading() as connection:
            needed = select(known.c.file_id).where(known.c.file_id.in_(names)).union(waiting)
            held = set((await connection.execute(needed)).scalars())
            released = set((await connection.execute(select(stored_files.c.key).where(*put))).scalars())
        return {key for key in keys if key in released or files[key] in held}

    async def count(self) -> int:
        """How many released originals there are."""
        held = (stored_files.c.released_at.is_not(None), stored_files.c.file_id.is_not(None))
        async with self._database.reading() as connection:
            found = await connection.execute(select(func.count()).select_from(stored_files).where(*held))
            return int(found.scalar_one())

    async def may_go(self, key: str) -> bool:
        """Is a file due for deletion? If it is needed after all, its release is revoked."""
        mine, now = stored_files.c.key == key, self._database.now()
        async with self._database.writing() as connection:
            await connection.execute(_kept(mine & _needed(key)))
            going = await connection.execute(select(stored_files.c.key).where(mine, _over(now)))
            return going.one_or_none() is not None

    async def forget(self, key: str) -> None:
        """Delete the row of a deleted file."""
        async with self._database.writing() as connection:
            await connection.execute(delete(stored_files).where(stored_files.c.key == key))
            await retentions.prune_retentions(connection, self._database.now())

    async def keep(self, file_id: str) -> None:
        """Revoke a file's release, though nothing holds it."""
        async with self._database.writing() as connection:
            await connection.execute(_kept(stored_files.c.file_id == file_id))

    async def drop(self, *keys: str) -> None:
        """Release files at once."""
        async with self._database.writing() as connection:
            await connection.execute(self._dropping(stored_files.c.key.in_(keys), "settled"))

    async def drop_trash(self, track_uri: str) -> None:
        """Make a track's released files due at once, except those that another track may have back."""
        of_track = (stored_files.c.track_uri == track_uri) & stored_files.c.released_at.is_not(None)
        now, held = self._database.now(), select(stored_files.c.file_id).where(of_track).distinct()
        async with self._database.writing() as connection:
            await retentions.end_retention(connection, track_uri)
            for file_id in (await connection.execute(held)).scalars().all():
                kept = await retentions.longest_retention(connection, now, file_id) or Retention(
                    now, "deleted", track_uri
                )
                of_file = of_track & (stored_files.c.file_id == file_id)
                await connection.execute(
                    update(stored_files).where(of_file).values(_release_columns(now, kept))
                )

    async def own(self) -> int:
        """Add a row for every file that other tables mention. Returns how many."""
        known = union_of_files()
        async with self._database.writing() as connection:
            file_ids = (await connection.execute(select(known.c.file_id))).scalars().all()
            for file_id in file_ids:
                for key in (original_key(file_id), rendition_key(file_id, RENDITION_TYPE)):
                    put = self._database.insert(stored_files).values(key=key, file_id=file_id)
                    await connection.execute(put.on_conflict_do_nothing())
        return len(file_ids)

    async def dropped_of(self, track_uri: str) -> list[str]:
        """The files of a track that are due at once."""
        of_track = (stored_files.c.track_uri == track_uri) & (stored_files.c.reason == "deleted")
        async with self._database.reading() as connection:
            found = await connection.execute(select(stored_files.c.file_id).where(of_track))
            return [str(file_id) for file_id in found.scalars()]

    def _dropping(self, which: ColumnElement[bool], reason: Reason) -> Any:
        now = self._database.now()
        return update(stored_files).where(which).values(released_at=now, delete_at=now, reason=reason)

    async def _released(self, which: ColumnElement[bool], most: int) -> list[Released]:
        found = select(stored_files).where(stored_files.c.released_at.is_not(None), which)
        in_order = found.order_by(stored_files.c.delete_at, stored_files.c.key).limit(most)
        async with self._database.reading() as connection:
            return [_present(row) for row in (await connection.execute(in_order)).all()]


async def hold_files(connection: AsyncConnection, *keys: str) -> None:
    """Mark files as needed, in the transaction that makes something need them."""
    await connection.execute(_kept(stored_files.c.key.in_(keys)))


async def release_file(
    connection: AsyncConnection,
    now: datetime,
    file_id: str,
    release: Release,
    track_uri: str | None = None,
    held_as: dict[str, Any] | None = None,
) -> bool:
    """Release a file unless something else needs it, in the transaction that ends a need of it.

    It is kept as long as any track may have it back. Returns whether the original was released.
    """
    # Concurrent releases of one file must see each other, so the second waits here for the first.
    mine = stored_files.c.file_id == file_id
    if not (await connection.execute(select(stored_files.c.key).where(mine).with_for_update())).all():
        return False
    was = None if held_as is None else orjson.dumps(held_as).decode()
    kept = Retention(now + release.kept, release.reason, track_uri, was)
    if track_uri is not None:
        await retentions.replace_retention(connection, now, file_id, track_uri, kept)
    longest = await retentions.longest_retention(connection, now, file_id)
    if longest is not None and longest.until > kept.until:
        kept = longest
    sooner = or_(stored_files.c.released_at.is_(None), stored_files.c.delete_at > kept.until)
    gone = []
    for key in (rendition_key(file_id, RENDITION_TYPE), original_key(file_id)):
        letting = update(stored_files).where(stored_files.c.key == key, sooner, ~_needed(key))
        gone.append((await connection.execute(letting.values(_release_columns(now, kept)))).rowcount == 1)
    return gone[-1]


def _release_columns(now: datetime, kept: Retention) -> dict[str, Any]:
    """The columns of a released file."""
    return {
        "released_at": now,
        "delete_at": kept.until,
        "reason": kept.reason,
        "track_uri": kept.track_uri,
        "held_as": kept.held_as,
    }


async def drop_received(connection: AsyncConnection, now: datetime, upload_id: str) -> None:
    """Release an upload's received files at once, in the transaction that settles it."""
    keys = (received_audio(upload_id), received_image(upload_id))
    told = {"released_at": now, "delete_at": now, "reason": "settled"}
    await connection.execute(update(stored_files).where(stored_files.c.key.in_(keys)).values(told))


def union_of_files() -> Any:
    """SQL: the needed files, of tracks, their revisions, and uploads that are not settled."""
    waiting = select(uploads.c.file_id).where(uploads.c.status.in_(UNFINISHED))
    return select(managed_audio.c.file_id).union(select(revisions.c.file_id), waiting).subquery("known")


def _needed(key: str) -> ColumnElement[bool]:
    if key.startswith("incoming/"):
        return exists().where(uploads.c.id == upload_in(key), uploads.c.status.in_(UNFINISHED))
    file_id = file_in(key)
    of_track = exists().where(managed_audio.c.file_id == file_id)
    of_upload = exists().where(uploads.c.file_id == file_id, uploads.c.status.in_(UNFINISHED))
    if key.startswith("renditions/"):
        return or_(of_track, of_upload)
    return or_(of_track, of_upload, exists().where(revisions.c.file_id == file_id))


def _over(now: datetime) -> ColumnElement[bool]:
    return stored_files.c.released_at.is_not(None) & (stored_files.c.delete_at <= now)


def _kept(which: ColumnElement[bool]) -> Any:
    told = dict.fromkeys(("released_at", "delete_at", "reason", "track_uri", "held_as"))
    return update(stored_files).where(which).values(told)


def _present(row: Row[Any]) -> Released:
    values = {name: getattr(row, name) for name in Released.__slots__}
    held_as = None if row.held_as is None else orjson.loads(row.held_as)
    return Released(**{**values, "held_as": held_as})
