"""One track's access, changed: the audio moves to where the new access wants it, then the record says so."""

from collections.abc import Awaitable, Callable
from functools import partial

from readapi.audio.blobs import Blobs
from readapi.audio.recording import NotAudio
from readapi.errors import ApiError, Conflict, NotFound, PdsUnavailable
from readapi.pds import Author, Pds, Value
from readapi.publishing import carried
from readapi.publishing.carried import Carried
from readapi.publishing.failures import Overridden
from readapi.publishing.originals import Originals, audio_of, fetch_blob, managed_of
from readapi.publishing.placing import Placed, Placing
from readapi.state.jobs import Asked
from readapi.state.uploads import Audio
from readapi.writing import Writing
from schemas.ids import AtUri
from schemas.publishing import PolicyOrigin, Template, is_protected
from schemas.rights import Rights

GONE = "Your server has no such track any more."
ELSEWHERE = "The audio lies with another service, which alone can restrict who has it."


Fence = Callable[[], Awaitable[None]]


class Changing:
    """Harmless to repeat: what is done already is found done."""

    def __init__(
        self,
        pds: Pds,
        writing: Writing,
        originals: Originals,
        placing: Placing,
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
        self, author: Author, track: AtUri, asked: Asked, rights: Rights | None, fence: Fence
    ) -> bool:
        """Give a track the settings that were asked for; `rights`: to attach where it has none.

        Returns whether the index shows it by then. Raises Overridden, ApiError and NotAudio; then nothing has
        changed. `fence` raises when somebody else has taken the work over: what comes after is final.
        """
        record = await self._pds.get(author, track.collection, track.rkey)
        if record is None:
            raise NotFound(GONE)

        def changed(value: Value) -> Value:
            if asked.is_preserving and value.get("policyOrigin") == "track":
                raise Overridden
            if carried.sound(value) != carried.sound(record.value):
                raise Conflict("The audio was replaced meanwhile; try again.")
            told = with_template(value, asked.settings, asked.origin, rights)
            return told if placed is None else placed.in_record(told)

        try:
            placed = await self._placed(author, track, record.value, asked.settings)
            await self._writing.rewrite(author, track.collection, track.rkey, changed)
        except PdsUnavailable:
            raise  # what was sent may be written yet
        except (ApiError, Overridden, NotAudio):
            await self._placing.reconcile(author, track)
            raise
        is_shown = await self._writing.seen(track)
        if placed is not None:
            await fence()
            await self._placing.settle(track, placed.managed)
        return is_shown

    async def was_done(self, author: Author, track: AtUri, asked: Asked, rights: Rights | None) -> bool:
        """After tries that failed: does the record say what was asked for? What they left beside it goes.

        Raises ApiError when the author's server cannot be asked; then everything stays.
        """
        record = await self._pds.get(author, track.collection, track.rkey)
        value = None if record is None else record.value
        await self._placing.keep_only(track, value)
        return value is not None and with_template(value, asked.settings, asked.origin, rights) == value

    async def _placed(self, author: Author, track: AtUri, value: Value, template: Template) -> Placed | None:
        """Where the audio goes; None: it stays where it is."""
        now = carried.read(value, self._base_url, await self._originals.find(track))
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

    async def _audio(self, track: AtUri, value: Value, now: Carried) -> Audio:
        if now.blob is not None:
            return carried.audio_of(value, now)
        managed = await self._originals.find(track)
        if managed is None or managed.file_id != now.file_id:
            raise Conflict("The audio is not in the private store any more.")
        return audio_of(managed)

    async def _take_in(self, track: AtUri, audio: Audio, now: Carried) -> None:
        """Bring a blob here; what is not one is here already."""
        if now.blob is not None:
            own = partial(self._originals.note, managed_of(track, audio))
            fetch = partial(fetch_blob, self._blobs, track.did, now.cid)
            await self._originals.fetch_in(track, audio.file_id, fetch, own)


def with_template(value: Value, template: Template, origin: PolicyOrigin, rights: Rights | None) -> Value:
    """The record with a template's snapshot.

    Templates are whole, so that one without `attach_rights` takes rights off. With it, those of the record
    stay, unknown members included; where there are none, those given here are put.
    """
    told = {**value, "access": template.access.model_dump(), "policyOrigin": origin}
    if not template.attach_rights:
        told.pop("rights", None)
    elif "rights" not in told and rights is not None:
        told["rights"] = rights.model_dump(exclude_none=True)
    return told
