"""Files that this service has put into the audio store, and which of them nothing needs any more.

A file is deleted only when its row says that it was released. Files without a row, or without that, stay.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

import orjson
from sqlalchemy import ColumnElement, Row, delete, exists, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.audio.keys import (
    file_in,
    original_key,
    received_audio,
    received_image,
    rendition_key,
    upload_in,
)
from readapi.audio.recording import RENDITION_TYPE
from readapi.state.claims import UNFINISHED
from readapi.state.database import Database
from readapi.state.publishing_tables import revisions, stored_files, uploads
from readapi.state.tables import managed_audio

Reason = Literal["deleted", "failed", "gone", "interrupted", "moved", "replaced", "settled", "trimmed"]

TRASH = timedelta(days=28)  # for which a released file can be restored
ARRIVING = timedelta(days=7)  # in which a file that is put must be held by something
AT_ONCE = timedelta(0)


@dataclass(frozen=True, slots=True)
class Release:
    """Why a file is let go of, and how long it is kept then."""

    reason: Reason
    kept: timedelta = TRASH


@dataclass(frozen=True, slots=True)
class Released:
    """A file that nothing needs. `held_as`: what it was to the track, if it was anything to one."""

    key: str
    file_id: str | None
    released_at: datetime
    delete_at: datetime
    reason: Reason
    track_uri: str | None
    held_as: dict[str, Any] | None


class StoredFiles:
    """One row for each file, written before the file is."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def expect(self, *keys: str) -> None:
        """Files are about to be put: left by an interruption, unless something holds them within a week."""
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
        """Released files whose time is over, oldest first."""
        return await self._released(stored_files.c.delete_at <= self._database.now(), most=most)

    async def in_trash(self, most: int) -> list[Released]:
        """Released recordings, those first that go first."""
        return await self._released(stored_files.c.file_id.is_not(None), most=most)

    async def of_file(self, file_id: str) -> list[Released]:
        """What is released of one file: the original and its rendition."""
        return await self._released(stored_files.c.file_id == file_id, most=10)

    async def known(self, keys: Iterable[str]) -> list[str]:
        """Those of these files that we put."""
        found = select(stored_files.c.key).where(stored_files.c.key.in_(list(keys)))
        async with self._database.reading() as connection:
            return list((await connection.execute(found)).scalars())

    async def some(self, most: int) -> list[str]:
        """A few of the files that we put and did not release, else of all."""
        found = select(stored_files.c.key).order_by(stored_files.c.released_at.nulls_first())
        async with self._database.reading() as connection:
            return list((await connection.execute(found.limit(most))).scalars())

    async def spoken_of(self, keys: Iterable[str]) -> set[str]:
        """Those of these files that something needs, or that we released."""
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
        """How many released recordings there are."""
        held = (stored_files.c.released_at.is_not(None), stored_files.c.file_id.is_not(None))
        async with self._database.reading() as connection:
            found = await connection.execute(select(func.count()).select_from(stored_files).where(*held))
            return int(found.scalar_one())

    async def may_go(self, key: str) -> bool:
        """Is a file's time over? Of one that is needed after all the release is taken back."""
        mine, now = stored_files.c.key == key, self._database.now()
        async with self._database.writing() as connection:
            await connection.execute(_kept(mine & _needed(key)))
            going = await connection.execute(select(stored_files.c.key).where(mine, _over(now)))
            return going.one_or_none() is not None

    async def forget(self, key: str) -> None:
        """The file is deleted."""
        async with self._database.writing() as connection:
            await connection.execute(delete(stored_files).where(stored_files.c.key == key))

    async def keep(self, file_id: str) -> None:
        """Take a file's release back, though nothing holds it."""
        async with self._database.writing() as connection:
            await connection.execute(_kept(stored_files.c.file_id == file_id))

    async def drop(self, *keys: str) -> None:
        """Release files at once."""
        async with self._database.writing() as connection:
            await connection.execute(self._dropping(stored_files.c.key.in_(keys), "settled"))

    async def drop_trash(self, track_uri: str) -> None:
        """What was released of a track is to go at once."""
        of_track = (stored_files.c.track_uri == track_uri) & stored_files.c.released_at.is_not(None)
        async with self._database.writing() as connection:
            await connection.execute(self._dropping(of_track, "deleted"))

    async def own(self) -> int:
        """Take every file that a row of this database speaks of for one that we put. Returns how many."""
        known = union_of_files()
        async with self._database.writing() as connection:
            file_ids = (await connection.execute(select(known.c.file_id))).scalars().all()
            for file_id in file_ids:
                for key in (original_key(file_id), rendition_key(file_id, RENDITION_TYPE)):
                    put = self._database.insert(stored_files).values(key=key, file_id=file_id)
                    await connection.execute(put.on_conflict_do_nothing())
        return len(file_ids)

    async def dropped_of(self, track_uri: str) -> list[str]:
        """The files of a track that are to go at once."""
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


async def hold(connection: AsyncConnection, *keys: str) -> None:
    """Within the transaction that makes something need these files."""
    await connection.execute(_kept(stored_files.c.key.in_(keys)))


async def let_go(
    connection: AsyncConnection,
    now: datetime,
    file_id: str,
    release: Release,
    track_uri: str | None = None,
    held_as: dict[str, Any] | None = None,
) -> bool:
    """Within the transaction that ends a need of a file: release what nothing else needs.

    Returns whether the original is released.
    """
    # Two that let go at once must see each other, so the second waits here for the first one's end.
    mine = stored_files.c.file_id == file_id
    await connection.execute(select(stored_files.c.key).where(mine).with_for_update())
    told = {
        "released_at": now,
        "delete_at": now + release.kept,
        "reason": release.reason,
        "track_uri": track_uri,
        "held_as": None if held_as is None else orjson.dumps(held_as).decode(),
    }
    sooner = or_(stored_files.c.released_at.is_(None), stored_files.c.delete_at > now + release.kept)
    gone = []
    for key in (rendition_key(file_id, RENDITION_TYPE), original_key(file_id)):
        letting = update(stored_files).where(stored_files.c.key == key, sooner, ~_needed(key))
        gone.append((await connection.execute(letting.values(told))).rowcount == 1)
    return gone[-1]


async def drop_received(connection: AsyncConnection, now: datetime, upload_id: str) -> None:
    """Within the transaction that settles an upload: what was received with it goes at once."""
    keys = (received_audio(upload_id), received_image(upload_id))
    told = {"released_at": now, "delete_at": now, "reason": "settled"}
    await connection.execute(update(stored_files).where(stored_files.c.key.in_(keys)).values(told))


def union_of_files() -> Any:
    """The files that something needs: tracks, their earlier versions, uploads that are not settled."""
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
