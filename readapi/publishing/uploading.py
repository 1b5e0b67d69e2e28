"""One upload, from the received file to the record: every step may be the last, and may be done again."""

from collections.abc import Awaitable, Callable
from functools import partial

from readapi.audio.keys import received_image
from readapi.audio.store import AudioStore
from readapi.errors import ApiError, NotFound, PdsUnavailable
from readapi.pds import Pds, Value
from readapi.publishing import carried
from readapi.publishing.changing import GONE
from readapi.publishing.homes import Homes
from readapi.publishing.originals import Originals
from readapi.publishing.placing import Placed, Placing
from readapi.publishing.versions import Versions, check_access
from readapi.state.managed import Managed
from readapi.state.stored_files import Release
from readapi.state.uploads import Upload
from readapi.writing import Writing
from schemas.ids import AtUri

FAILED = Release("failed")
REPLACED = "The track has its new audio."

Say = Callable[[str, int, str], Awaitable[None]]  # phase, percent, sentence


class Uploading:
    """Puts the audio in its place, then writes the record that speaks of it, then lets go of the rest."""

    def __init__(
        self,
        store: AudioStore,
        originals: Originals,
        placing: Placing,
        versions: Versions,
        homes: Homes,
        pds: Pds,
        writing: Writing,
    ) -> None:
        self._store = store
        self._originals = originals
        self._placing = placing
        self._versions = versions
        self._homes = homes
        self._pds = pds
        self._writing = writing

    async def run(self, upload: Upload, say: Say) -> str:
        """Do it, or what is left of it; returns the sentence to end with. Raises ApiError and NotAudio."""
        return await (self._publish(upload, say) if upload.kind == "publish" else self._replace(upload, say))

    async def is_shown(self, upload: Upload) -> bool:
        """Can what was done be found? Asked for a while."""
        return await self._homes.show(upload.track)

    async def let_go(self, upload: Upload) -> None:
        """Drop what was received: it is where the record says."""
        await self._originals.drop_received(upload.id)

    async def undo(self, upload: Upload) -> None:
        """Leave nothing of what came with an upload that has failed."""
        await self._originals.drop_received(upload.id)

    async def compare(self, upload: Upload, *, is_last: bool) -> bool:
        """Was it done after all, though an attempt failed? Then finish it; else take back what was prepared.

        Raises PdsUnavailable, unless this is the last time: what the record may speak of is kept then.
        """
        track, audio = upload.track, upload.wanted.audio
        try:
            value = await self._homes.get(upload, track)
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
        access = carried.access_of(value)
        await self._settle(track, await self._placing.managed(track, audio, access) if protected else None)
        return True

    async def _settle(self, track: AtUri, managed: Managed | None) -> None:
        await self._placing.settle(track, managed)
        await self._versions.settle(track)

    async def _publish(self, upload: Upload, say: Say) -> str:
        track, value = upload.track, upload.wanted.record
        assert value is not None
        if await self._homes.get(upload, track) is None:
            placed = await self._placed(upload, value, say)
            if placed.managed is not None:
                await self._originals.hold(placed.managed)
            value = await self._illustrated(upload, placed.in_record(value), say)
            await say("record", 90, "The track is being written to your server.")
            await self._homes.write(upload, track, value, upload.wanted.album)
        return "The track is published."

    async def _illustrated(self, upload: Upload, value: Value, say: Say) -> Value:
        if upload.wanted.image_type is None:
            return value
        await say("image", 80, "The image is being sent to your server.")
        async with self._store.local(received_image(upload.id)) as picture:
            return {**value, "image": await self._pds.upload(upload, picture, upload.wanted.image_type)}

    async def _replace(self, upload: Upload, say: Say) -> str:
        """Other audio in the same record; what was there becomes an earlier version."""
        track, audio = upload.track, upload.wanted.audio
        record = await self._pds.get(upload, track.collection, track.rkey)
        if record is None:
            raise NotFound(GONE)
        if self._placing.is_done(record.value, audio):
            await self._settle(track, None)
            return REPLACED
        check_access(upload.wanted.access, carried.access_of(record.value))
        placed = await self._placed(upload, record.value, say)
        await say("version", 80, "What was there is being kept as an earlier version.")
        await self._versions.keep(track, record.value, besides=audio.file_id)
        await say("record", 90, "The track is being written to your server.")
        told = {"fileType": audio.file_type, "duration": audio.duration}
        said = {name: member for name, member in told.items() if member is not None}

        def with_audio(value: Value) -> Value:
            carried.check_unchanged(value, record.value)
            silent = {name: member for name, member in value.items() if name != "duration"}
            return placed.in_record({**silent, **said})

        await self._writing.edit(upload, track.collection, track.rkey, with_audio)
        # Whoever was silent for long may be overtaken by now, and what comes next cannot be taken back.
        await say("settling", 95, "What was there before is being let go.")
        await self._settle(track, placed.managed)
        return REPLACED

    async def _placed(self, upload: Upload, value: Value, say: Say) -> Placed:
        access, audio = carried.access_of(value), upload.wanted.audio
        await say("storing", 20, "The file is being put in its place.")
        return await self._placing.place(
            upload,
            upload.track,
            audio,
            access,
            partial(self._originals.take_in, upload.id, audio.file_id),
            upload.id,
        )
