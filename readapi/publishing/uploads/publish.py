"""Runs one upload from the stored file to the record; each step may be interrupted and repeated."""

from collections.abc import Awaitable, Callable
from functools import partial

from readapi.audio import in_record
from readapi.audio.store import AudioStore
from readapi.errors import ApiError, NotFound, PdsUnavailable
from readapi.pds.repo import Pds, Value
from readapi.pds.writing import Writing
from readapi.publishing.access.change_track import GONE
from readapi.publishing.originals.placement import Placed, Placement
from readapi.publishing.originals.references import Originals
from readapi.publishing.uploads.record_home import RecordLocation
from readapi.publishing.uploads.revisions import Versions, check_access
from readapi.state.publishing.file_keys import received_image
from readapi.state.publishing.managed_audio import Managed
from readapi.state.publishing.stored_files import Release
from readapi.state.publishing.uploads import Upload
from schemas.ids import AtUri

FAILED = Release("failed")
REPLACED = "The track's audio was replaced."

Say = Callable[[str, int, str], Awaitable[None]]  # phase, percent, sentence


class UploadRun:
    """Places the audio, then writes the record that names it, then releases the files no longer needed."""

    def __init__(
        self,
        store: AudioStore,
        originals: Originals,
        placing: Placement,
        versions: Versions,
        location: RecordLocation,
        pds: Pds,
        writing: Writing,
    ) -> None:
        self._store = store
        self._originals = originals
        self._placing = placing
        self._versions = versions
        self._location = location
        self._pds = pds
        self._writing = writing

    async def run(self, upload: Upload, say: Say) -> str:
        """Run the remaining steps; returns the final message. Raises ApiError and NotAudio."""
        return await (self._publish(upload, say) if upload.kind == "publish" else self._replace(upload, say))

    async def is_shown(self, upload: Upload) -> bool:
        """Whether the index shows the result; waits for it for a while."""
        return await self._location.show(upload.track)

    async def let_go(self, upload: Upload) -> None:
        """Delete the received files: the audio is where the record says."""
        await self._originals.drop_received(upload.id)

    async def undo(self, upload: Upload) -> None:
        """Delete the received files of an upload that has failed."""
        await self._originals.drop_received(upload.id)

    async def compare(self, upload: Upload, *, is_last: bool) -> bool:
        """Whether the record was written although an attempt failed; finishes or undoes the upload.

        Raises PdsUnavailable, unless `is_last`: then files that the record may name are kept.
        """
        track, audio = upload.track, upload.wanted.audio
        try:
            value = await self._location.get(upload, track)
        except ApiError as error:
            if isinstance(error, PdsUnavailable) and not is_last:
                raise
            if upload.kind != "publish":
                await self._versions.rescue(track, audio)
            return False
        if value is None:
            if upload.kind == "publish":
                await self._originals.forget(track, FAILED)
            return False
        if upload.kind == "publish":
            await self._placing.keep_only(track, value)
            return True
        now = await self._placing.read(track, value, audio)
        if now.file_id != audio.file_id:
            await self._versions.take_back(track, now.file_id)
            return False
        protected = now.storage == "managed"
        access = in_record.access_of(value)
        await self._settle(track, await self._placing.managed(track, audio, access) if protected else None)
        return True

    async def _settle(self, track: AtUri, managed: Managed | None) -> None:
        await self._placing.settle(track, managed)
        await self._versions.settle(track)

    async def _publish(self, upload: Upload, say: Say) -> str:
        track, value = upload.track, upload.wanted.record
        assert value is not None
        if await self._location.get(upload, track) is None:
            placed = await self._placed(upload, value, say)
            if placed.managed is not None:
                await self._originals.hold(placed.managed)
            value = await self._illustrated(upload, placed.in_record(value), say)
            await say("record", 90, "The track is being written to your server.")
            await self._location.write(upload, track, value, upload.wanted.album)
        return "The track is published."

    async def _illustrated(self, upload: Upload, value: Value, say: Say) -> Value:
        if upload.wanted.image_type is None:
            return value
        await say("image", 80, "The image is being sent to your server.")
        async with self._store.local(received_image(upload.id)) as picture:
            return {**value, "image": await self._pds.upload(upload, picture, upload.wanted.image_type)}

    async def _replace(self, upload: Upload, say: Say) -> str:
        """Replace the record's audio; the previous audio becomes an earlier version."""
        track, audio = upload.track, upload.wanted.audio
        record = await self._pds.get(upload, track.collection, track.rkey)
        if record is None:
            raise NotFound(GONE)
        if self._placing.is_done(record.value, audio):
            await self._settle(track, None)
            return REPLACED
        check_access(upload.wanted.access, in_record.access_of(record.value))
        placed = await self._placed(upload, record.value, say)
        await say("version", 80, "The previous audio is being stored as an earlier version.")
        await self._versions.keep(track, record.value, besides=audio.file_id)
        await say("record", 90, "The track is being written to your server.")
        told = {"fileType": audio.file_type, "duration": audio.duration}
        said = {name: member for name, member in told.items() if member is not None}

        def with_audio(value: Value) -> Value:
            in_record.check_unchanged(value, record.value)
            silent = {name: member for name, member in value.items() if name != "duration"}
            return placed.in_record({**silent, **said})

        await self._writing.edit(upload, track.collection, track.rkey, with_audio)
        # Another worker may have claimed the job by now, and the next step is final: `say` raises then.
        await say("settling", 95, "The previous audio is being released.")
        await self._settle(track, placed.managed)
        return REPLACED

    async def _placed(self, upload: Upload, value: Value, say: Say) -> Placed:
        access, audio = in_record.access_of(value), upload.wanted.audio
        await say("storing", 20, "The audio is being stored.")
        return await self._placing.place(
            upload,
            upload.track,
            audio,
            access,
            partial(self._originals.take_in, upload.id, audio.file_id),
            upload.id,
        )
