"""Places a track's audio where its access requires it: on the artist's PDS, or in the private store."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from readapi.audio import in_record
from readapi.audio.in_record import AudioLocation
from readapi.errors import ApiError, TooLarge
from readapi.pds.repo import Author, Pds, Value
from readapi.publishing.originals.references import Originals, managed_of
from readapi.state.publishing.managed_audio import Managed
from readapi.state.publishing.stored_files import Release
from readapi.state.publishing.uploads import Audio
from schemas.audio import audio_address
from schemas.bounds import MAX_AUDIO_BYTES
from schemas.ids import AtUri
from schemas.publishing import TemplateAccess, is_protected, needs_rendition
from schemas.spaces import InSpace

MOVED = Release("moved")  # to the artist's PDS


@dataclass(frozen=True, slots=True)
class Placed:
    """The audio members of a record, and the original in the private store, if it is there."""

    members: Value
    managed: Managed | None

    def in_record(self, value: Value) -> Value:
        """The record with these audio members in place of its own."""
        silent = {name: member for name, member in value.items() if name not in in_record.MEMBERS}
        return {**silent, **self.members}


class Placement:
    """Copies to the new place first; the old copy is released only after the record names the new one."""

    def __init__(self, pds: Pds, originals: Originals, base_url: str) -> None:
        self._pds = pds
        self._originals = originals
        self._base_url = base_url

    async def place(
        self,
        author: Author,
        track: AtUri,
        audio: Audio,
        access: TemplateAccess,
        take_in: Callable[[], Awaitable[object]],
        upload_id: str | None = None,
    ) -> Placed:
        """Put the audio in its place. `take_in` brings it into the private store, if that is its place."""
        if lies_with_record(track, access):
            return Placed({"audioBlob": await self._sent(author, audio, upload_id)}, None)
        await take_in()
        managed = await self.managed(track, audio, access)
        return Placed({"audioUrl": audio_address(self._base_url, audio.file_id)}, managed)

    async def managed(self, track: AtUri, audio: Audio, access: TemplateAccess) -> Managed:
        """The row of an original in the private store, with the rendition that its access requires."""
        managed = managed_of(track, audio)
        return await self._originals.rendered(managed) if needs_rendition(access) else managed

    async def settle(self, track: AtUri, managed: Managed | None) -> None:
        """Keep the original that the record names now and release the previous one; None: it has a blob."""
        if managed is None:
            await self._originals.forget(track, MOVED)
        else:
            await self._originals.own(managed)

    async def read(self, track: AtUri, value: Value, new: Audio) -> AudioLocation:
        """Where a record's audio is; it may be `new`, although that is not yet the track's original."""
        now = in_record.locate_audio(value, self._base_url, managed_of(track, new))
        return (
            now
            if now.file_id == new.file_id
            else in_record.locate_audio(value, self._base_url, await self._originals.find(track))
        )

    def is_done(self, value: Value, audio: Audio) -> bool:
        """Whether the record already names this audio as a blob on the artist's PDS."""
        now = in_record.locate_audio(value, self._base_url, None)
        return now.storage == "pds" and now.file_id == audio.file_id

    async def keep_only(self, track: AtUri, value: Value | None) -> None:
        """Release the original if the record has its audio in a blob.

        Otherwise it may be the only copy. Deleted records (None) are left to `RecordReconciliation`.
        """
        if value is not None and in_record.locate_audio(value, self._base_url, None).storage == "pds":
            await self._originals.forget(track, MOVED)

    async def reconcile(self, author: Author, track: AtUri) -> None:
        """As `keep_only`, with the record from the author's PDS; does nothing when that cannot be reached."""
        try:
            record = await self._pds.get(author, track.collection, track.rkey)
            await self.keep_only(track, None if record is None else record.value)
        except ApiError:
            return

    async def _sent(self, author: Author, audio: Audio, upload_id: str | None) -> Value:
        if audio.bytes > MAX_AUDIO_BYTES:
            raise TooLarge(TOO_LONG_FOR_A_RECORD)
        async with self._originals.reading(upload_id, audio.file_id) as path:
            return await self._pds.upload(author, path, audio.mime_type)


def lies_with_record(track: AtUri, access: TemplateAccess) -> bool:
    """Whether the audio is a blob beside the record: repos make it public, Spaces restrict it themselves."""
    return isinstance(track, InSpace) or not is_protected(access)


TOO_LONG_FOR_A_RECORD = (
    f"What everybody or a private Space may have lies on your own server, in a record that takes "
    f"{MAX_AUDIO_BYTES >> 20} MiB at most."
)
