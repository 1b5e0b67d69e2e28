"""A track's audio, put where its access wants it: at the artist's own server, or in the private store."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from readapi.errors import ApiError, TooLarge
from readapi.pds import Author, Pds, Value
from readapi.publishing import carried
from readapi.publishing.carried import Carried
from readapi.publishing.originals import Originals, managed_of
from readapi.state.managed import Managed
from readapi.state.stored_files import Release
from readapi.state.uploads import Audio
from schemas.audio import address
from schemas.bounds import MAX_AUDIO_BYTES
from schemas.ids import AtUri
from schemas.publishing import TemplateAccess, is_protected, needs_rendition
from schemas.spaces import InSpace

MOVED = Release("moved")  # to the artist's own server


@dataclass(frozen=True, slots=True)
class Placed:
    """What a record says of its audio, and what we keep of it: None when nothing."""

    members: Value
    managed: Managed | None

    def in_record(self, value: Value) -> Value:
        """The record, saying so."""
        silent = {name: member for name, member in value.items() if name not in carried.MEMBERS}
        return {**silent, **self.members}


class Placing:
    """The new place first; the old one is left only once the record speaks of the new one."""

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
        """Put the audio in its place. `take_in` makes sure that the private store has it, where it must."""
        if lies_with_record(track, access):
            return Placed({"audioBlob": await self._sent(author, audio, upload_id)}, None)
        await take_in()
        managed = await self.managed(track, audio, access)
        return Placed({"audioUrl": address(self._base_url, audio.file_id)}, managed)

    async def managed(self, track: AtUri, audio: Audio, access: TemplateAccess) -> Managed:
        """What we keep of audio that is in the private store, with the rendition that its access wants."""
        managed = managed_of(track, audio)
        return await self._originals.rendered(managed) if needs_rendition(access) else managed

    async def settle(self, track: AtUri, managed: Managed | None) -> None:
        """The record speaks of this audio now: keep it, let go of what was there before. None: of a blob."""
        if managed is None:
            await self._originals.forget(track, MOVED)
        else:
            await self._originals.own(managed)

    async def read(self, track: AtUri, value: Value, new: Audio) -> Carried:
        """Where a record's audio is, which may be `new` though we do not keep that for the track yet."""
        now = carried.read(value, self._base_url, managed_of(track, new))
        return (
            now
            if now.file_id == new.file_id
            else carried.read(value, self._base_url, await self._originals.find(track))
        )

    def is_done(self, value: Value, audio: Audio) -> bool:
        """Does the record speak of this audio at the artist's own server already?"""
        now = carried.read(value, self._base_url, None)
        return now.storage == "pds" and now.file_id == audio.file_id

    async def keep_only(self, track: AtUri, value: Value | None) -> None:
        """Forget the original of a record that has its audio in a blob.

        Else it may be the only one there is; that a record is gone (None) is for `Reconciling` to find.
        """
        if value is not None and carried.read(value, self._base_url, None).storage == "pds":
            await self._originals.forget(track, MOVED)

    async def reconcile(self, author: Author, track: AtUri) -> None:
        """The same, asked of the author's server. As long as that does not answer, everything stays."""
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
    """Is the original at its artist's server? Public repos let everybody have it, Spaces whom they want."""
    return isinstance(track, InSpace) or not is_protected(access)


TOO_LONG_FOR_A_RECORD = (
    f"What everybody or a private Space may have lies on your own server, in a record that takes "
    f"{MAX_AUDIO_BYTES >> 20} MiB at most."
)
