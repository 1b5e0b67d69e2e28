"""Compares stored originals with their tracks' records, which other clients delete and change, too.

An original may be the only copy. So a server's claim is not enough to delete it: a record counts as absent
when the account's signed commit, newer than the track, proves it in each answer for a week. Asking for these
proofs needs no grant. The original is then released and stays in the trash for weeks.
"""

import asyncio
from datetime import timedelta

import structlog

from readapi.audio.blob_cache import Blobs
from readapi.errors import PdsUnavailable
from readapi.index.indexer_client import Proofs, Signed
from readapi.index.lookups import Index
from readapi.publishing.originals.placement import MOVED
from readapi.publishing.originals.references import Originals
from readapi.state.publishing.reconciled_tracks import Finding
from readapi.state.publishing.stored_files import Release
from readapi.state.state import State
from schemas import records
from schemas.collections import Collections
from schemas.ids import AtUri, Cid, is_tid

log = structlog.get_logger()

MOST = 100  # tracks compared in one round
AT_ONCE = 4
AGAIN = timedelta(days=1)
GRACE = timedelta(days=7)  # for which the finding must stay the same, without a new reference to the original


class RecordReconciliation:
    """A server that is down or lies changes nothing; one that has the record restarts the week."""

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
        """Compare up to MOST tracks that were not compared for a day."""
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
        """What the proof says about the original; None if it is inconclusive, as a replayed commit is."""
        if signed.record is not None:
            return "needed" if blob is None else "moved"
        if is_tid(track.rkey) and signed.rev <= track.rkey:
            return None
        return "gone" if self._index.track_at(str(track)) is None else "needed"

    def _blob_in(self, track: AtUri, signed: Signed) -> Cid | None:
        """The audio blob that the record names, if any; it takes precedence over the private store."""
        if signed.record is None:
            return None
        record = records.parse_record(track.collection, self._collections, signed.record)
        if not isinstance(record, records.Track) or record.audio_blob is None:
            return None
        return Cid(record.audio_blob.ref)

    async def _is_there(self, track: AtUri, blob: Cid) -> bool:
        """Whether the blob can be fetched in full with the right hash."""
        try:
            await self._blobs.open(track.did, blob)
        except PdsUnavailable:
            return False
        return True
