"""Originals in the private store: held for what needs them, and released when nothing does."""

import asyncio
import dataclasses
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

from readapi.audio import renditions
from readapi.audio.blobs import Blobs
from readapi.audio.keys import original_key, received_audio, received_image, rendition_key
from readapi.audio.recording import RENDITION_TYPE
from readapi.audio.store import CHUNK_BYTES, AudioStore
from readapi.publishing.pairing import Pairing
from readapi.publishing.trash import Trash, lock_of
from readapi.state.managed import Managed
from readapi.state.state import State
from readapi.state.stored_files import AT_ONCE, Release
from readapi.state.uploads import Audio
from schemas.ids import AtUri, Cid, Did

ERASED = Release("deleted", AT_ONCE)

Fetch = Callable[[Path], Awaitable[object]]  # puts the file's bytes at a path


class Originals:
    """Tracks, earlier versions of tracks and uploads under way may share a file.

    One at a time for each file, so that none is deleted that is about to be needed.
    """

    def __init__(self, state: State, store: AudioStore) -> None:
        self._managed = state.managed_audio
        self._revisions = state.revisions
        self._files = state.stored_files
        self._locks = state.locks
        self._store = store
        self.pairing = Pairing(state, store)
        self.trash = Trash(state, store, self.pairing)

    async def take_in(self, upload_id: str, file_id: str) -> None:
        """Move a received file to the originals. Harmless to repeat."""
        key = original_key(file_id)
        async with self._locks.holding(lock_of(key)):
            if await self._store.size(key) is None:
                await self._files.expect(key)
                await self._store.move(received_audio(upload_id), key)

    async def fetch_in(
        self, track: AtUri, file_id: str, fetch: Fetch, own: Callable[[], Awaitable[object]]
    ) -> None:
        """Have a track's file among the originals, then let it `own` it. Harmless to repeat.

        `fetch` holds what it gets to the hash. It is asked even when the file is here for another track's
        sake: whoever knows the hash of a file does not therefore have the file.
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
        """From here on the file is this track's."""
        await self._managed.put(managed)
        await self.pairing.advance()

    async def hold(self, managed: Managed) -> None:
        """The same, before the record says so: what may be heard of the file already can be heard on."""
        await self.note(managed)
        await self.pairing.advance()

    async def note(self, managed: Managed) -> None:
        """The same, for `fetch_in`, which goes on to advance the edition."""
        before = await self._managed.find(managed.track_uri)
        if before is not None and before.file_id == managed.file_id and managed.rendition_type is None:
            managed = dataclasses.replace(managed, rendition_type=before.rendition_type)
        await self._managed.put(managed)

    async def find(self, track: AtUri) -> Managed | None:
        """A track's original, if it is here."""
        return await self._managed.find(str(track))

    async def files_of(self, track: AtUri) -> list[str]:
        """Its original, if that is here, and its earlier versions."""
        managed, versions = await self.find(track), await self._revisions.of(track)
        return [*([] if managed is None else [managed.file_id]), *(one.audio.file_id for one in versions)]

    async def _is_of(self, track: AtUri, file_id: str) -> bool:
        """Is the file this track's, or an earlier version of it?"""
        return file_id in await self.files_of(track)

    async def has(self, file_id: str) -> bool:
        """Is the file here, whosever it is?"""
        return await self._store.size(original_key(file_id)) is not None

    async def rendered(self, managed: Managed) -> Managed:
        """Make what everybody may hear of an original that not everybody may have. Harmless to repeat.

        Raises NotAudio.
        """
        key = rendition_key(managed.file_id, RENDITION_TYPE)
        if await self._store.size(key) is None:
            with tempfile.TemporaryDirectory(prefix="fmsvc-") as folder:
                target = Path(folder) / "rendition"
                async with self._store.local(original_key(managed.file_id)) as source:
                    await renditions.render(source, target, managed.duration, lambda part: None)
                await self._files.expect(key)
                await self._store.put(key, target)
        return dataclasses.replace(managed, rendition_type=RENDITION_TYPE)

    @asynccontextmanager
    async def reading(self, upload_id: str | None, file_id: str) -> AsyncIterator[Path]:
        """The bytes of a file, where it was received or among the originals. Raises FileNotFoundError."""
        received = upload_id is not None and await self._store.size(received_audio(upload_id)) is not None
        key = received_audio(str(upload_id)) if received else original_key(file_id)
        async with self._store.local(key) as path:
            yield path

    async def forget(self, track: AtUri, release: Release, held_before: datetime | None = None) -> None:
        """A track's original is not here any more, unless it is held since; its earlier versions stay."""
        await self._managed.remove(str(track), release, held_before)

    async def forget_all(self, track: AtUri, release: Release, held_before: datetime | None = None) -> None:
        """The track is gone, and its earlier versions with it; unless its original is held since."""
        await self.forget(track, release, held_before)
        if await self.find(track) is None:
            await self._revisions.remove(track, release)

    async def erase(self, track: AtUri) -> None:
        """Its artist deleted a track: leave nothing of it but what others need."""
        file_ids = await self.files_of(track)
        await self.forget_all(track, ERASED)
        await self._files.drop_trash(str(track))
        await self.trash.empty_of({*file_ids, *await self._files.dropped_of(str(track))})

    async def drop_received(self, upload_id: str) -> None:
        """What came with an upload that is settled, or about to be."""
        await self.trash.drop((received_audio(upload_id), received_image(upload_id)))


async def fetch_blob(blobs: Blobs, did: Did, cid: Cid, target: Path) -> None:
    """Copy a blob from its owner's server to a path. Raises PdsUnavailable."""
    file = await blobs.open(did, cid)
    await asyncio.to_thread(_copy, file.number, target)


def _copy(source: int, target: Path) -> None:
    with target.open("wb") as file:
        offset = 0
        while chunk := os.pread(source, CHUNK_BYTES, offset):
            offset += file.write(chunk)


def managed_of(track: AtUri, audio: Audio) -> Managed:
    """A file as a track's original, without a rendition."""
    what = (audio.file_id, audio.file_type, audio.mime_type, audio.bytes, audio.duration)
    return Managed(str(track), track.did, *what, rendition_type=None)


def audio_of(managed: Managed) -> Audio:
    """A track's original as a file."""
    return Audio(managed.file_id, managed.bytes, managed.file_type, managed.mime_type, managed.duration)
