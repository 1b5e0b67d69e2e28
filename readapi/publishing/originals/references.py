"""References to originals in the private store: a file is released when none is left."""

import asyncio
import dataclasses
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

from readapi.audio.blob_cache import Blobs
from readapi.audio.decoding import transcode
from readapi.audio.store import CHUNK_BYTES, AudioStore
from readapi.publishing.originals.pairing import StorePairing
from readapi.publishing.originals.trash import Trash, lock_of
from readapi.state.publishing.file_keys import original_key, received_audio, received_image, rendition_key
from readapi.state.publishing.managed_audio import Managed
from readapi.state.publishing.stored_files import AT_ONCE, Release
from readapi.state.publishing.uploads import Audio
from readapi.state.state import State
from schemas.audio import RENDITION_TYPE
from schemas.ids import AtUri, Cid, Did

ERASED = Release("deleted", AT_ONCE)

Fetch = Callable[[Path], Awaitable[object]]  # puts the file's bytes at a path


class Originals:
    """Tracks, earlier versions of tracks and running uploads may share a file.

    A lock for each file keeps it from being deleted while a reference to it is added.
    """

    def __init__(self, state: State, store: AudioStore) -> None:
        self._managed = state.managed_audio
        self._revisions = state.revisions
        self._files = state.stored_files
        self._locks = state.locks
        self._store = store
        self.pairing = StorePairing(state, store)
        self.trash = Trash(state, store, self.pairing)

    async def take_in(self, upload_id: str, file_id: str) -> None:
        """Move an uploaded file to the originals. Idempotent."""
        key = original_key(file_id)
        async with self._locks.holding(lock_of(key)):
            if await self._store.size(key) is None:
                await self._files.expect(key)
                await self._store.move(received_audio(upload_id), key)

    async def fetch_in(
        self, track: AtUri, file_id: str, fetch: Fetch, own: Callable[[], Awaitable[object]]
    ) -> None:
        """Fetch a track's file into the originals, then call `own` to add the reference. Idempotent.

        `fetch` verifies the hash. It runs even if the store has the file for another track: knowing a file's
        hash does not prove having the file.
        """
        key = original_key(file_id)
        async with self._locks.holding(lock_of(key)):
            is_here = await self.has(file_id)
            if not is_here or not await self._is_of(track, file_id):
                with tempfile.TemporaryDirectory(prefix="fmsvc-") as folder:
                    fetched = Path(folder) / "original"
                    await fetch(fetched)
                    if not is_here:
                        await self._files.expect(key)
                        await self._store.put(key, fetched)
            await own()
        await self.pairing.advance()

    async def own(self, managed: Managed) -> None:
        """Make the file the track's original."""
        await self._managed.put(managed)
        await self.pairing.advance()

    async def hold(self, managed: Managed) -> None:
        """As `own`, before the record is written: an existing rendition of the file stays playable."""
        await self.note(managed)
        await self.pairing.advance()

    async def note(self, managed: Managed) -> None:
        """As `hold`, for `fetch_in`, which advances the edition itself."""
        before = await self._managed.find(managed.track_uri)
        if before is not None and before.file_id == managed.file_id and managed.rendition_type is None:
            managed = dataclasses.replace(managed, rendition_type=before.rendition_type)
        await self._managed.put(managed)

    async def find(self, track: AtUri) -> Managed | None:
        """A track's original, if the private store has it."""
        return await self._managed.find(str(track))

    async def files_of(self, track: AtUri) -> list[str]:
        """The ids of a track's original, if the private store has it, and of its earlier versions."""
        managed, versions = await self.find(track), await self._revisions.of(track)
        return [*([] if managed is None else [managed.file_id]), *(one.audio.file_id for one in versions)]

    async def _is_of(self, track: AtUri, file_id: str) -> bool:
        """Whether the file is this track's original or an earlier version of it."""
        return file_id in await self.files_of(track)

    async def has(self, file_id: str) -> bool:
        """Whether the private store has the file, for any track."""
        return await self._store.size(original_key(file_id)) is not None

    async def rendered(self, managed: Managed) -> Managed:
        """Make the rendition for listeners who may not download the original. Idempotent.

        Raises NotAudio.
        """
        key = rendition_key(managed.file_id, RENDITION_TYPE)
        if await self._store.size(key) is None:
            with tempfile.TemporaryDirectory(prefix="fmsvc-") as folder:
                target = Path(folder) / "rendition"
                async with self._store.local(original_key(managed.file_id)) as source:
                    await transcode.render_file(source, target, managed.duration, lambda part: None)
                await self._files.expect(key)
                await self._store.put(key, target)
        return dataclasses.replace(managed, rendition_type=RENDITION_TYPE)

    @asynccontextmanager
    async def reading(self, upload_id: str | None, file_id: str) -> AsyncIterator[Path]:
        """The path of a file, as uploaded or among the originals. Raises FileNotFoundError."""
        received = upload_id is not None and await self._store.size(received_audio(upload_id)) is not None
        key = received_audio(str(upload_id)) if received else original_key(file_id)
        async with self._store.local(key) as path:
            yield path

    async def forget(self, track: AtUri, release: Release, held_before: datetime | None = None) -> None:
        """Release a track's original, unless it was held since `held_before`; earlier versions stay."""
        await self._managed.remove(str(track), release, held_before)

    async def forget_all(self, track: AtUri, release: Release, held_before: datetime | None = None) -> None:
        """Release a track's original and earlier versions, unless the original was held since."""
        await self.forget(track, release, held_before)
        if await self.find(track) is None:
            await self._revisions.remove(track, release)

    async def erase(self, track: AtUri) -> None:
        """Delete all files of a track that its artist deleted, except those that other tracks share."""
        file_ids = await self.files_of(track)
        await self.forget_all(track, ERASED)
        await self._files.drop_trash(str(track))
        await self.trash.empty_of({*file_ids, *await self._files.dropped_of(str(track))})

    async def drop_received(self, upload_id: str) -> None:
        """Delete the files received with an upload that is settled, or about to be."""
        await self.trash.drop((received_audio(upload_id), received_image(upload_id)))


async def fetch_blob(blobs: Blobs, did: Did, cid: Cid, target: Path) -> None:
    """Copy a blob from its owner's PDS to a path. Raises PdsUnavailable."""
    file = await blobs.open(did, cid)
    await asyncio.to_thread(_copy, file.number, target)


def _copy(source: int, target: Path) -> None:
    with target.open("wb") as file:
        offset = 0
        while chunk := os.pread(source, CHUNK_BYTES, offset):
            offset += file.write(chunk)


def managed_of(track: AtUri, audio: Audio) -> Managed:
    """The row that makes a file a track's original, without a rendition."""
    what = (audio.file_id, audio.file_type, audio.mime_type, audio.bytes, audio.duration)
    return Managed(str(track), track.did, *what, rendition_type=None)


def audio_of(managed: Managed) -> Audio:
    """The file of a track's original."""
    return Audio(managed.file_id, managed.bytes, managed.file_type, managed.mime_type, managed.duration)
