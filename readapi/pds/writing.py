"""THE ORDER of a write: validate by lexicon, write to the PDS, nudge the indexer, wait for the index."""

import asyncio
import copy
import secrets
from collections.abc import Callable

import libipld

from readapi.errors import Conflict, InvalidRequest, NotFound
from readapi.index.indexer_client import IndexerNudges
from readapi.pds.repo import Author, Delete, Pds, Record, Value, Write, WriteResult
from readapi.pds.xrpc import Swapped
from schemas import data_model, datetimes, records
from schemas.collections import Collections
from schemas.data_model import DataModelError
from schemas.errors import FieldError
from schemas.ids import AtUri, Cid, Nsid, Rkey, tid_at

ATTEMPTS = 5  # at an edit while other programs write the same record
SHOWN_SECONDS, AGAIN_SECONDS = 10.0, 0.5

Change = Callable[[Value], Value]  # gets a copy of the record, which it may mutate; returns the one to write


class Writing:
    """Writes records. Nothing is stored here: if the server refuses, nothing has changed."""

    def __init__(
        self,
        pds: Pds,
        nudges: IndexerNudges,
        collections: Collections,
        shown_seconds: float = SHOWN_SECONDS,
    ) -> None:
        self._pds = pds
        self._nudges = nudges
        self._shown_seconds = shown_seconds
        self.collections = collections

    async def commit(
        self, author: Author, *writes: Write, swap_commit: Cid | None = None
    ) -> list[WriteResult]:
        """Apply writes in one commit; the index shows them when this returns, or soon after.

        Raises InvalidRequest, as `Pds` does, and Swapped when `swap_commit` is not the newest commit.
        """
        for write in writes:
            if not isinstance(write, Delete):
                self.check(write.collection, write.rkey, write.value)
        written = await self._pds.apply(author, writes, swap_commit=swap_commit)
        await self.seen(*(record.uri for record in written))
        return written

    async def edit(
        self,
        author: Author,
        collection: Nsid,
        rkey: Rkey,
        change: Change,
        *,
        absent: Value | None = None,
    ) -> Record:
        """As `rewrite`; the index shows the record when this returns, or soon after."""
        record = await self.rewrite(author, collection, rkey, change, absent=absent)
        await self.seen(record.uri)
        return record

    async def rewrite(
        self,
        author: Author,
        collection: Nsid,
        rkey: Rkey,
        change: Change,
        *,
        absent: Value | None = None,
    ) -> Record:
        """Change a record at its author's server, even while other programs write it.

        `change` gets a copy of the newest version, and again when that was overtaken; `absent` stands in
        for a missing record. Raises NotFound, Conflict, InvalidRequest, and as `Pds` does.
        """
        for _ in range(ATTEMPTS):
            found = await self._pds.get(author, collection, rkey)
            before = absent if found is None else found.value
            if before is None:
                raise NotFound("Your server no longer has this record.")
            after = change(copy.deepcopy(before))
            if found is not None and after == before:
                return found
            if found is not None and collection == self.collections.track:
                after = mark_edited(after)
            self.check(collection, rkey, after)
            swap = None if found is None else found.cid
            try:
                return await self._pds.put(author, collection, rkey, after, swap=swap)
            except Swapped:
                continue
        raise Conflict("Other programs keep changing this record; try again.")

    async def delete(self, author: Author, collection: Nsid, *rkeys: Rkey) -> None:
        """Delete records; missing ones are ignored. Raises as `Pds` does."""
        for rkey in rkeys:
            await self._pds.delete(author, collection, rkey)
        await self.seen(*(AtUri(author.did, collection, rkey) for rkey in rkeys))

    async def seen(self, *uris: AtUri) -> bool:
        """Nudge the indexer and wait until the index shows these records; False: not within shown_seconds."""
        return await self._nudges.shown(uris)

    async def shown(self, *uris: AtUri) -> bool:
        """The same for up to SHOWN_SECONDS, also while the index is unavailable."""
        try:
            async with asyncio.timeout(self._shown_seconds):
                while not await self.seen(*uris):  # noqa: ASYNC110  # another process sets no event of ours
                    await asyncio.sleep(AGAIN_SECONDS)
        except TimeoutError:
            return False
        return True

    def check(self, collection: Nsid, rkey: Rkey, value: Value) -> None:
        """Validate a record by its lexicon. Records of other namespaces are not validated."""
        if collection not in self.collections.all:
            return
        try:
            block: bytes = libipld.encode_dag_cbor(data_model.read_record(value))
        except DataModelError as error:
            raise InvalidRequest(f"The record cannot be written: {error}.") from error
        parsed = records.parse_record(collection, self.collections, block, rkey)
        if isinstance(parsed, records.Invalid):
            faults = [reason.partition(": ") for reason in parsed.reasons]
            raise InvalidRequest(errors=[FieldError(field=name, message=said) for name, _, said in faults])


def mark_edited(track: Value) -> Value:
    """The track's record with the current time as that of its last edit."""
    return {**track, "updatedAt": datetimes.render(datetimes.now())}


def new_rkey() -> Rkey:
    """A new record key: the TID of now."""
    return Rkey(tid_at(datetimes.now(), secrets.randbits(10)))
