"""Files of the store that nothing needs: kept where they are for a while, restored, or deleted in the end."""

from collections.abc import Iterable

import structlog

from readapi.audio.keys import INCOMING, file_in, original_key, upload_in
from readapi.audio.store import AudioStore
from readapi.publishing.pairing import Pairing
from readapi.state.managed import Managed
from readapi.state.state import State
from readapi.state.stored_files import Released
from readapi.state.uploads import Audio
from schemas.ids import AtUri
from schemas.publishing import NOBODY, TemplateAccess

log = structlog.get_logger()

MOST = 1_000  # files deleted at a time


class NotRestored(Exception):
    """A file cannot be had back; the message is a sentence."""


class Trash:
    """Nothing in it is moved: whatever needs a file again finds it where it was."""

    def __init__(self, state: State, store: AudioStore, pairing: Pairing) -> None:
        self._files = state.stored_files
        self._managed = state.managed_audio
        self._revisions = state.revisions
        self._locks = state.locks
        self._store = store
        self._pairing = pairing

    async def empty(self) -> None:
        """Delete what was released long enough ago."""
        await self._delete(await self._files.due(MOST))

    async def empty_of(self, file_ids: Iterable[str]) -> None:
        """The same of these files only."""
        await self._delete([one for file_id in file_ids for one in await self._files.of_file(file_id)])

    async def drop(self, keys: Iterable[str]) -> None:
        """Delete what was received with an upload, whose work says that it is done with it."""
        keys = list(keys)
        await self._files.drop(*keys)
        if await self._pairing.check() is not None:
            return
        for key in await self._files.known(keys):
            await self._store.delete(key)
            await self._files.forget(key)

    async def restore(self, file_id: str) -> str:
        """Let a file be again what it was before it was released; returns a sentence. Raises NotRestored."""
        async with self._locks.holding(lock_of(original_key(file_id))):  # else it may be deleted meanwhile
            told = await self._restored(file_id)
        await self._pairing.advance()
        return told

    async def _restored(self, file_id: str) -> str:
        released = {one.key: one for one in await self._files.of_file(file_id)}
        original = released.get(original_key(file_id)) or next(iter(released.values()), None)
        if original is None:
            raise NotRestored(f"{file_id} is not in the trash.")
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
            await self._revisions.add(AtUri.parse(track_uri), audio, "managed", NOBODY)
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
    """The name of the lock under which a file is put and deleted: one for an original and its rendition."""
    return f"received {upload_in(key)}" if key.startswith(INCOMING) else f"audio {file_in(key)}"
