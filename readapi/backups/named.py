"""The files of the audio store that a state database refers to, at one instant."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.state.db.claims import UNFINISHED
from readapi.state.db.publishing_tables import audio_store, revisions, stored_files, uploads
from readapi.state.db.tables import managed_audio
from readapi.state.publishing.file_keys import (
    INCOMING,
    file_in,
    original_key,
    received_audio,
    rendition_key,
    upload_in,
)


@dataclass(frozen=True, slots=True)
class ReferencedFiles:
    """`originals`: hashes of the files of tracks and versions; `uploads`: hash by id of each queued upload.

    `released`: keys of files in the trash, which may still be restored.
    """

    store_id: str | None
    originals: frozenset[str]
    renditions: frozenset[str]
    uploads: dict[str, str]
    released: frozenset[str]

    def speaks_of(self, key: str) -> bool:
        """Whether the database refers to this file, or has it in the trash."""
        if key in self.released:
            return True
        if key.startswith(f"{INCOMING}/"):
            return upload_in(key) in self.uploads
        return file_in(key) in self.originals or file_in(key) in self.uploads.values()

    def missing(self, keys: Collection[str]) -> list[str]:
        """The required files that are not among `keys`."""
        needed = {original_key(file_id) for file_id in self.originals} | self.renditions
        waiting = [
            received_audio(upload_id)
            for upload_id, file_id in self.uploads.items()
            if received_audio(upload_id) not in keys and original_key(file_id) not in keys
        ]
        return sorted([*(needed - set(keys)), *waiting])


async def read_references(connection: AsyncConnection) -> ReferencedFiles:
    """Read all references, in the connection's transaction."""
    waiting = select(uploads.c.id, uploads.c.file_id).where(uploads.c.status.in_(UNFINISHED))
    rendered = select(managed_audio.c.file_id, managed_audio.c.rendition_type)
    rendered = rendered.where(managed_audio.c.rendition_type.is_not(None))
    held = select(managed_audio.c.file_id).union(select(revisions.c.file_id))
    released = select(stored_files.c.key).where(stored_files.c.released_at.is_not(None))
    known = (await connection.execute(select(audio_store.c.store_id))).scalar_one_or_none()
    return ReferencedFiles(
        known,
        frozenset((await connection.execute(held)).scalars()),
        frozenset(rendition_key(*row) for row in await connection.execute(rendered)),
        {row.id: row.file_id for row in await connection.execute(waiting)},
        frozenset((await connection.execute(released)).scalars()),
    )
