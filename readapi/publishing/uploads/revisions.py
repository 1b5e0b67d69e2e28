"""Earlier versions of a track's audio: kept when it is replaced, so that they can be restored."""

from functools import partial

from readapi.audio import in_record
from readapi.audio.blob_cache import Blobs
from readapi.errors import Conflict, NotFound
from readapi.pds.repo import Value
from readapi.publishing.originals.references import Originals, audio_of, fetch_blob
from readapi.state.publishing.revisions import Revisions, Storage
from readapi.state.publishing.uploads import Audio
from schemas.ids import AtUri
from schemas.publishing import ARTIST_ONLY, TemplateAccess, widens

WOULD_WIDEN = "This version was published with narrower access than the track has now."


class Versions:
    """Each is stored in the private store, wherever the track's current audio is."""

    def __init__(self, revisions: Revisions, originals: Originals, blobs: Blobs, base_url: str) -> None:
        self._revisions = revisions
        self._originals = originals
        self._blobs = blobs
        self._base_url = base_url

    async def keep(self, track: AtUri, value: Value, *, besides: str) -> None:
        """Keep a record's current audio as a version, unless it is the file `besides`. Idempotent."""
        now = in_record.locate_audio(value, self._base_url, await self._originals.find(track))
        audio = None if now.file_id in (None, besides) else await self._audio(track, value, now)
        if audio is None:
            return
        storage: Storage = "pds" if now.blob is not None else "managed"
        own = partial(self._revisions.add, track, audio, storage, in_record.access_of(value))
        fetch = partial(fetch_blob, self._blobs, track.did, now.cid) if now.blob is not None else _gone
        await self._originals.fetch_in(track, audio.file_id, fetch, own)

    async def settle(self, track: AtUri) -> None:
        """Release the oldest versions above the limit, after a replacement."""
        await self._revisions.trim(track)

    async def take_back(self, track: AtUri, file_id: str | None) -> None:
        """Remove the version of the track's current audio, after a replacement that failed."""
        if file_id is not None:
            await self._revisions.take_back(track, file_id)

    async def rescue(self, track: AtUri, audio: Audio) -> None:
        """Keep the new file as a version for the artist alone, when its replacement's result is unknown."""
        if await self._originals.has(audio.file_id):
            await self._revisions.add(track, audio, "managed", ARTIST_ONLY)
            await self._originals.pairing.advance()

    async def _audio(self, track: AtUri, value: Value, now: in_record.AudioLocation) -> Audio | None:
        assert now.file_id is not None
        if now.blob is not None:
            return in_record.audio_of(value, now)
        managed = await self._originals.find(track)
        if managed is None or managed.file_id != now.file_id:
            return None
        return audio_of(managed)


def check_access(published: TemplateAccess | None, now: TemplateAccess) -> None:
    """Raise Conflict if access `now` is wider than that of publication; None: it was never published."""
    if published is not None and widens(published, now):
        raise Conflict(WOULD_WIDEN)


async def _gone(_: object) -> None:
    raise NotFound("The audio is no longer in the private store.")
