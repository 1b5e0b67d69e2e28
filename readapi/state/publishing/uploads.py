"""Uploads: acknowledged files that must become records, however often processing is interrupted."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import TypeAdapter
from sqlalchemy import Row, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.state.db.claims import UNFINISHED, Claimant, Claims, TakenOver
from readapi.state.db.database import Database
from readapi.state.db.publishing_tables import uploads
from readapi.state.publishing import stored_files
from readapi.state.publishing.file_keys import received_audio, received_image
from readapi.state.publishing.stored_files import Release
from readapi.state.sign_in.grants import GrantId
from schemas import spaces
from schemas.ids import AtUri, Did, Rkey
from schemas.publishing import TemplateAccess

Status = Literal["pending", "processing", "completed", "failed"]
Kind = Literal["publish", "replace", "restore"]
RECEIVED = "The file has been received."
DELETED = "The track was deleted since."
KEPT = timedelta(days=30)  # how long a settled upload can be queried


@dataclass(frozen=True, slots=True)
class Audio:
    """A received file: the SHA-256 of its bytes in hex, its size, and its properties."""

    file_id: str
    bytes: int
    file_type: str
    mime_type: str
    duration: int | None


@dataclass(frozen=True, slots=True)
class OnAlbum:
    """The album of a track: an existing one, or the one of a name, created if there is none."""

    name: str
    uri: AtUri | None
    new_rkey: Rkey


@dataclass(frozen=True, slots=True)
class Unexamined:
    """The choices of an upload whose file is yet to be examined.

    `has_template`: the upload has its own. `may_write_lists`: the grant covers it. `rights`: as sent.
    `takes_album`: the album named in the file applies, as the form has none. `attaches`: the rights go on
    the record whatever the template says. `file_title`: the title if neither the form nor the file has one.
    """

    has_template: bool = False
    may_write_lists: bool = False
    rights: dict[str, Any] | None = None
    takes_album: bool = True
    attaches: bool = False
    file_title: str | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """The record to publish. `record` lacks the addresses of audio and image, which publishing adds.

    `image_type`: of the received image, if any. `access`: of a restored revision, when it was published.
    `unexamined`: the file is not examined yet, and `audio` has only its size.
    """

    audio: Audio
    record: dict[str, Any] | None = None
    album: OnAlbum | None = None
    image_type: str | None = None
    access: TemplateAccess | None = None
    unexamined: Unexamined | None = None


@dataclass(frozen=True, slots=True)
class Upload:
    """One upload and its progress. `error`: a code, once it has failed."""

    id: str
    did: Did
    grant_id: GrantId
    kind: Kind
    track: AtUri
    wanted: Wanted
    status: Status
    phase: str
    progress_pct: int
    message: str
    error: str | None
    version: int
    created_at: datetime

    @property
    def is_settled(self) -> bool:
        return self.status not in UNFINISHED

    @property
    def is_there(self) -> bool:
        """Whether its track exists."""
        return self.status == "completed" and self.phase != "deleted"


_WANTED = TypeAdapter(Wanted)


class Uploads:
    """Uploads: added when the file is stored safely, advanced by the claiming process, settled once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.claims = Claims(database, uploads)

    async def put(
        self, upload_id: str, did: Did, grant_id: GrantId, kind: Kind, track: AtUri, wanted: Wanted
    ) -> Upload:
        """Add an upload: from here on it is not lost. An existing one with this id is returned."""
        first: tuple[Status, str, int, str] = ("pending", "received", 0, RECEIVED)
        whose = (upload_id, did, grant_id, kind, track, wanted)
        upload = Upload(*whose, *first, None, 1, self._database.now())
        row = {field.name: getattr(upload, field.name) for field in dataclasses.fields(upload)}
        del row["track"]
        row |= {
            "track_uri": str(track),
            "file_id": wanted.audio.file_id,
            "wanted": _WANTED.dump_json(wanted).decode(),
        }
        async with self._database.writing() as connection:
            added = self._database.insert(uploads).values(row).on_conflict_do_nothing()
            is_new = (await connection.execute(added)).rowcount == 1
            await stored_files.hold_files(connection, received_audio(upload_id), received_image(upload_id))
        return upload if is_new else await self._found(upload_id)

    async def find(self, upload_id: str) -> Upload | None:
        """One upload, of any account."""
        async with self._database.reading() as connection:
            row = (await connection.execute(select(uploads).where(uploads.c.id == upload_id))).one_or_none()
        return None if row is None else _read(row)

    async def _found(self, upload_id: str) -> Upload:
        found = await self.find(upload_id)
        assert found is not None
        return found

    async def newest(self, did: Did, most: int) -> list[Upload]:
        """An account's latest uploads, newest first."""
        found = select(uploads).where(uploads.c.did == did)
        in_order = found.order_by(uploads.c.created_at.desc(), uploads.c.id).limit(most)
        async with self._database.reading() as connection:
            return [_read(row) for row in await connection.execute(in_order)]

    async def advance(
        self, upload_id: str, claimant: Claimant, phase: str, progress_pct: int, message: str
    ) -> None:
        """Store the progress. Raises TakenOver."""
        told = {"phase": phase, "progress_pct": progress_pct, "message": message}
        await self._change(upload_id, claimant, **told)

    async def examined(self, upload_id: str, claimant: Claimant, wanted: Wanted) -> None:
        """Store what was decided after examining the file. Raises TakenOver."""
        await self._change(upload_id, claimant, wanted=_WANTED.dump_json(wanted).decode())

    async def complete(self, upload_id: str, claimant: Claimant, message: str) -> None:
        """Settle as done. Raises TakenOver."""
        told = {"status": "completed", "phase": "completed", "progress_pct": 100, "message": message}
        await self._settle(upload_id, claimant, Release("settled"), told)

    async def fail(self, upload_id: str, claimant: Claimant, error: str, message: str) -> None:
        """Settle as failed; the message is a sentence. Raises TakenOver."""
        told = {"status": "failed", "error": error, "message": message}
        await self._settle(upload_id, claimant, Release("failed"), told)

    async def note_deletion(self, track: AtUri) -> None:
        """Mark the uploads of a deleted track."""
        done = (uploads.c.did == track.did) & (uploads.c.track_uri == str(track))
        told = {"phase": "deleted", "message": DELETED, "version": uploads.c.version + 1}
        change = update(uploads).where(done, uploads.c.status == "completed").values(told)
        async with self._database.writing() as connection:
            await connection.execute(change)

    async def waiting(self, did: Did) -> tuple[int, int]:
        """How many uploads of an account are not settled, and their received bytes."""
        found = select(uploads.c.kind, uploads.c.wanted).where(
            uploads.c.did == did, uploads.c.status.in_(UNFINISHED)
        )
        async with self._database.reading() as connection:
            rows = (await connection.execute(found)).all()
        received = [_WANTED.validate_json(row.wanted).audio.bytes for row in rows if row.kind != "restore"]
        return len(rows), sum(received)

    async def forget_old(self) -> None:
        """Delete uploads that were settled long ago."""
        over = uploads.c.completed_at <= self._database.now() - KEPT
        async with self._database.writing() as connection:
            await connection.execute(delete(uploads).where(over))

    async def _change(self, upload_id: str, claimant: Claimant, **values: object) -> None:
        async with self._database.writing() as connection:
            await self._changed(connection, upload_id, claimant, values)

    async def _settle(
        self, upload_id: str, claimant: Claimant, release: Release, values: Mapping[str, object]
    ) -> None:
        """Settle: received files are released at once, the original if nothing else needs it."""
        now = self._database.now()
        async with self._database.writing() as connection:
            file_id = await self._changed(connection, upload_id, claimant, {"completed_at": now, **values})
            await stored_files.release_file(connection, now, file_id, release)
            await stored_files.drop_received(connection, now, upload_id)

    async def _changed(
        self, connection: AsyncConnection, upload_id: str, claimant: Claimant, values: Mapping[str, object]
    ) -> str:
        held = self.claims.held(upload_id, claimant)
        change = update(uploads).where(held).values(version=uploads.c.version + 1, **values)
        file_id = (await connection.execute(change.returning(uploads.c.file_id))).scalar_one_or_none()
        if file_id is None:
            raise TakenOver
        return str(file_id)


def _read(row: Row[Any]) -> Upload:
    track, wanted = spaces.parse_address(row.track_uri), _WANTED.validate_json(row.wanted)
    whose = (row.id, row.did, row.grant_id, row.kind, track, wanted)
    standing = (row.status, row.phase, row.progress_pct, row.message, row.error, row.version)
    return Upload(*whose, *standing, row.created_at)
