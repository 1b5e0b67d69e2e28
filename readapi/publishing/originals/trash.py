"""The trash: released files stay where they are for a while, and are then restored or deleted."""

from collections.abc import Iterable

import structlog

from readapi.audio.store import AudioStore
from readapi.publishing.originals.pairing import StorePairing
from readapi.state.publishing.file_keys import INCOMING, file_in, original_key, upload_in
from readapi.state.publishing.managed_audio import Managed
from readapi.state.publishing.stored_files import Released
from readapi.state.publishing.uploads import Audio
from readapi.state.state import State
from schemas.ids import AtUri
from schemas.publishing import ARTIST_ONLY, TemplateAccess

log = structlog.get_logger()

MOST = 1_000  # files deleted at a time
RENDITION_ONLY = (
    " itself is not in the trash, only its rendition, which is made again as soon as a track needs it."
)


class NotRestored(Exception):
    """A file cannot be restored; the message is a sentence."""


class Trash:
    """Files are not moved, so a new reference to one finds it where it was."""

    def __init__(self, state: State, store: AudioStore, pairing: StorePairing) -> None:
        self._files = state.stored_files
        self._managed = state.managed_audio
        self._revisions = state.revisions
        self._locks = state.locks
        self._store = store
        self._pairing = pairing

    async def empty(self) -> None:
        """Delete the files that were released long enough ago."""
        await self._delete(await self._files.due(MOST))

    async def empty_of(self, file_ids: Iterable[str]) -> None:
        """As `empty`, for these files only."""
        await self._delete([one for file_id in file_ids for one in await self._files.of_file(file_id)])

    async def drop(self, keys: Iterable[str]) -> None:
        """Delete the files received with an upload whose job no longer needs them."""
        keys = list(keys)
        await self._files.drop(*keys)
        if await self._pairing.check() is not None:
            return
        for key in await self._files.known(keys):
            await self._store.delete(key)
            await self._files.forget(key)

    async def restore(self, file_id: str) -> str:
        """Restore a file to its former use; returns a sentence that says which. Raises NotRestored."""
        async with self._locks.holding(lock_of(original_key(file_id))):  # or it may be deleted meanwhile
            told = await self._restored(file_id)
        await self._pairing.advance()
        return told

    async def _restored(self, file_id: str) -> str:
        released = {one.key: one for one in await self._files.of_file(file_id)}
        original = released.get(original_key(file_id))
        if original is None:
            raise NotRestored(f"{file_id}{RENDITION_ONLY if released else ' is not in the trash.'}")
        if original.reason == "deleted":
            raise NotRestored(f"{file_id} was deleted by its artist, which cannot be taken back.")
        if await self._store.size(original_key(file_id)) is None:
            raise NotRestored(f"{file_id} is not in the store any more.")
        told = await self._hold(original)
        log.info("file restored", file=file_id, track=original.track_uri)
        return told

    async def _hold(self, released: Released) -> str:
        was, track_uri = released.held_as or {}, str(released.track_uri)
        if "managed" in was:
            managed = Managed(**was["managed"])
            if await self._managed.find(track_uri) is None:
                await self._managed.put(managed)
                return f"It is the original of {track_uri} again."
            audio = Audio(
                managed.file_id, managed.bytes, managed.file_type, managed.mime_type, managed.duration
            )
            await self._revisions.add(AtUri.parse(track_uri), audio, "managed", ARTIST_ONLY)
            return f"It is an earlier version of {track_uri}, which has another original by now."
        if "revision" in was:
            revision = was["revision"]
            access = TemplateAccess.model_validate_json(revision["access"])
            track, audio = AtUri.parse(track_uri), Audio(**revision["audio"])
            await self._revisions.add(track, audio, revision["storage"], access)
            return f"It is an earlier version of {track_uri} again."
        await self._files.keep(str(released.file_id))
        return "It is kept, and belongs to no track: no track ever had it."

    async def _delete(self, released: list[Released]) -> None:
        if not released or await self._pairing.check() is not None:
            return
        for one in released:
            async with self._locks.holding(lock_of(one.key)):
                if not await self._files.may_go(one.key):
                    continue
                await self._store.delete(one.key)
                await self._files.forget(one.key)
            since = one.released_at.isoformat(timespec="seconds")
            log.info("file deleted", key=one.key, reason=one.reason, track=one.track_uri, released=since)


def lock_of(key: str) -> str:
    """The name of the lock for writing and deleting a file; an original and its rendition share one."""
    return f"received {upload_in(key)}" if key.startswith(INCOMING) else f"audio {file_in(key)}"
