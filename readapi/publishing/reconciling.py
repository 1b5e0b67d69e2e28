"""What is kept of tracks, compared with their records: others delete and change those, too.

An original may be the only one there is. So nothing goes on a server's word: absence is what the account has
signed itself, in a commit that is newer than the track, at each answer for a week. No grant is needed to ask.
What goes is released, and lies in the trash for weeks.
"""

import asyncio
from datetime import timedelta

import structlog

from readapi.audio.blobs import Blobs
from readapi.errors import PdsUnavailable
from readapi.proofs import Proofs, Signed
from readapi.publishing.originals import Originals
from readapi.publishing.placing import MOVED
from readapi.search import Index
from readapi.state.kept_tracks import Finding
from readapi.state.state import State
from readapi.state.stored_files import Release
from schemas import records
from schemas.collections import Collections
from schemas.ids import AtUri, Cid, is_tid

log = structlog.get_logger()

MOST = 100  # tracks asked for at a time
AT_ONCE = 4
AGAIN = timedelta(days=1)
GRACE = timedelta(days=7)  # for which the same must be found, and nobody may have held the original anew


class Reconciling:
    """A server that is down, or lies, changes nothing; one that shows the record begins the week anew."""

    def __init__(
        self,
        state: State,
        originals: Originals,
        proofs: Proofs,
        blobs: Blobs,
        index: Index,
        collections: Collections,
    ) -> None:
        self._kept = state.kept_tracks
        self._now = state.database.now
        self._originals = originals
        self._proofs = proofs
        self._blobs = blobs
        self._index = index
        self._collections = collections

    async def reconcile(self) -> None:
        """Ask for the records that were not asked for since a day, as many as there is time for."""
        await self._kept.forget_others()
        turns = asyncio.Semaphore(AT_ONCE)

        async def compare(track: AtUri) -> None:
            async with turns:
                await self._compare(track)

        due = await self._kept.due(self._now() - AGAIN, MOST)
        await asyncio.gather(*(compare(track) for track in due))

    async def _compare(self, track: AtUri) -> None:
        try:
            signed = await self._proofs.record(track)
        except PdsUnavailable:
            await self._kept.found(track, None)
            return
        blob = self._blob_in(track, signed)
        finding = self._finding(track, signed, blob)
        since, until = await self._kept.found(track, finding), self._now() - GRACE
        if since is None or since > until:
            return
        if finding == "gone":
            log.info("the track is gone, and what is kept of it goes too", track=str(track))
            await self._originals.forget_all(track, Release("gone"), until)
        elif blob is not None and await self._originals.find(track) and await self._is_there(track, blob):
            log.info("the artist's own server has the recording, and ours goes", track=str(track))
            await self._originals.forget(track, MOVED, until)

    def _finding(self, track: AtUri, signed: Signed, blob: Cid | None) -> Finding | None:
        """What this says of what is kept; None: nothing, as somebody may play back an old commit."""
        if signed.record is not None:
            return "needed" if blob is None else "moved"
        if is_tid(track.rkey) and signed.rev <= track.rkey:
            return None
        return "gone" if self._index.track_at(str(track)) is None else "needed"

    def _blob_in(self, track: AtUri, signed: Signed) -> Cid | None:
        """The recording at the artist's own server, where the record speaks of one; it comes before ours."""
        if signed.record is None:
            return None
        record = records.parse(track.collection, self._collections, signed.record)
        if not isinstance(record, records.Track) or record.audio_blob is None:
            return None
        return Cid(record.audio_blob.ref)

    async def _is_there(self, track: AtUri, blob: Cid) -> bool:
        """Can it be had, whole and with the right hash?"""
        try:
            await self._blobs.open(track.did, blob)
        except PdsUnavailable:
            return False
        return True
