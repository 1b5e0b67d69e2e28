"""Changes one track's access: moves its audio where the new access requires it, then rewrites the record."""

from collections.abc import Awaitable, Callable
from functools import partial

from readapi.audio import in_record
from readapi.audio.blob_cache import Blobs
from readapi.audio.decoding.formats import NotAudio
from readapi.audio.in_record import AudioLocation
from readapi.errors import ApiError, Conflict, NotFound, PdsUnavailable
from readapi.pds.repo import Author, Pds, Value
from readapi.pds.writing import Writing
from readapi.publishing.originals.placement import Placed, Placement
from readapi.publishing.originals.references import Originals, audio_of, fetch_blob, managed_of
from readapi.publishing.retries import Overridden
from readapi.state.publishing.jobs import JobRequest
from readapi.state.publishing.uploads import Audio
from schemas.ids import AtUri
from schemas.publishing import PolicyOrigin, Template, is_protected
from schemas.rights import Ownership

GONE = "Your server no longer has this track."
ELSEWHERE = "Another service stores the audio, so only that service can restrict access."


Fence = Callable[[], Awaitable[None]]


class AccessChange:
    """Idempotent: a step that was completed before is recognised and skipped."""

    def __init__(
        self,
        pds: Pds,
        writing: Writing,
        originals: Originals,
        placing: Placement,
        blobs: Blobs,
        base_url: str,
    ) -> None:
        self._pds = pds
        self._writing = writing
        self._originals = originals
        self._placing = placing
        self._blobs = blobs
        self._base_url = base_url

    async def change(
        self, author: Author, track: AtUri, asked: JobRequest, rights: Ownership | None, fence: Fence
    ) -> bool:
        """Give a track the requested settings; `rights` are attached if the record has none.

        Returns whether the index shows the change yet. Raises Overridden, ApiError and NotAudio; then nothing
        has changed. `fence` raises when another worker has claimed the job: the step after it is final.
        """
        record = await self._pds.get(author, track.collection, track.rkey)
        if record is None:
            raise NotFound(GONE)

        def changed(value: Value) -> Value:
            if asked.is_preserving and value.get("policyOrigin") == "track":
                raise Overridden
            if in_record.audio_members(value) != in_record.audio_members(record.value):
                raise Conflict("The audio was replaced in the meantime; try again.")
            told = with_template(value, asked.settings, asked.origin, rights)
            return told if placed is None else placed.in_record(told)

        try:
            placed = await self._placed(author, track, record.value, asked.settings)
            await self._writing.rewrite(author, track.collection, track.rkey, changed)
        except PdsUnavailable:
            raise  # the server may still write what was sent
        except (ApiError, Overridden, NotAudio):
            await self._placing.reconcile(author, track)
            raise
        is_shown = await self._writing.seen(track)
        await fence()
        if placed is None:
            # A try that was interrupted here may have moved the audio to the author's server before.
            await self._placing.keep_only(track, record.value)
        else:
            await self._placing.settle(track, placed.managed)
        return is_shown

    async def was_done(
        self, author: Author, track: AtUri, asked: JobRequest, rights: Ownership | None
    ) -> bool:
        """Whether the record has the requested settings although attempts failed; removes their leftovers.

        Raises ApiError when the author's server cannot be reached; then everything stays.
        """
        record = await self._pds.get(author, track.collection, track.rkey)
        value = None if record is None else record.value
        await self._placing.keep_only(track, value)
        return value is not None and with_template(value, asked.settings, asked.origin, rights) == value

    async def _placed(self, author: Author, track: AtUri, value: Value, template: Template) -> Placed | None:
        """Put the audio where the template requires it; None: it stays where it is."""
        now = in_record.locate_audio(value, self._base_url, await self._originals.find(track))
        if now.storage == "elsewhere" and is_protected(template.access):
            raise Conflict(ELSEWHERE)
        if now.storage in ("none", "elsewhere"):
            return None
        if now.storage == "pds" and not is_protected(template.access):
            return None
        audio = await self._audio(track, value, now)
        take_in = partial(self._take_in, track, audio, now)
        placed = await self._placing.place(author, track, audio, template.access, take_in)
        if placed.managed is not None:
            await self._originals.hold(placed.managed)
        return placed

    async def _audio(self, track: AtUri, value: Value, now: AudioLocation) -> Audio:
        if now.blob is not None:
            return in_record.audio_of(value, now)
        managed = await self._originals.find(track)
        if managed is None or managed.file_id != now.file_id:
            raise Conflict("The audio is no longer in the private store.")
        return audio_of(managed)

    async def _take_in(self, track: AtUri, audio: Audio, now: AudioLocation) -> None:
        """Fetch the audio into the private store if it is a blob; otherwise the store has it already."""
        if now.blob is not None:
            own = partial(self._originals.note, managed_of(track, audio))
            fetch = partial(fetch_blob, self._blobs, track.did, now.cid)
            await self._originals.fetch_in(track, audio.file_id, fetch, own)


def with_template(value: Value, template: Template, origin: PolicyOrigin, rights: Ownership | None) -> Value:
    """The record with a template's settings.

    A template without `attach_rights` removes the record's rights. One with it keeps them, unknown members
    included; a record without rights gets `rights`.
    """
    told = {**value, "access": template.access.model_dump(), "policyOrigin": origin}
    if not template.attach_rights:
        told.pop("rights", None)
    elif "rights" not in told and rights is not None:
        told["rights"] = rights.model_dump(mode="json", exclude_none=True)  # lists, as records have them
    return told
