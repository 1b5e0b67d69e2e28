"""THE ORDER of writing for somebody: hold to the lexicon, their server, nudge, wait until it is shown."""

import asyncio
import copy
import secrets
from collections.abc import Callable

import libipld

from readapi import times
from readapi.errors import Conflict, InvalidRequest, NotFound
from readapi.nudges import Nudges
from readapi.pds import Author, Delete, Pds, Record, Value, Write, Written
from readapi.xrpc import Swapped
from schemas import data_model, records
from schemas.collections import Collections
from schemas.data_model import DataModelError
from schemas.errors import FieldError
from schemas.ids import AtUri, Cid, Nsid, Rkey, tid_at

ATTEMPTS = 5  # at an edit that others write into
SHOWN_SECONDS, AGAIN_SECONDS = 10.0, 0.5

Change = Callable[[Value], Value]  # a record that may be changed in place, and the one to write


class Writing:
    """Writes records of ours. Nothing is kept here: if a server refuses, nothing has changed."""

    def __init__(
        self,
        pds: Pds,
        nudges: Nudges,
        collections: Collections,
        shown_seconds: float = SHOWN_SECONDS,
    ) -> None:
        self._pds = pds
        self._nudges = nudges
        self._shown_seconds = shown_seconds
        self.collections = collections

    async def commit(self, author: Author, *writes: Write, swap_commit: Cid | None = None) -> list[Written]:
        """All writes in one commit, shown by the index when this returns, or soon after.

        Raises InvalidRequest, what `Pds` raises, and Swapped when `swap_commit` is not the newest commit.
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
        """As `rewrite`; shown by the index when this returns, or soon after."""
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
        """Change a record as it is at its author's server, whoever else writes it meanwhile.

        `change` gets a copy of the newest version, again when that was overtaken; where there is none,
        `absent`. Raises NotFound, Conflict, InvalidRequest, and what `Pds` raises.
        """
        for _ in range(ATTEMPTS):
            found = await self._pds.get(author, collection, rkey)
            before = absent if found is None else found.value
            if before is None:
                raise NotFound("Your server has no such record any more.")
            after = change(copy.deepcopy(before))
            if found is not None and after == before:
                return found
            self.check(collection, rkey, after)
            swap = None if found is None else found.cid
            try:
                return await self._pds.put(author, collection, rkey, after, swap=swap)
            except Swapped:
                continue
        raise Conflict("Others keep changing this record; try again.")

    async def delete(self, author: Author, collection: Nsid, *rkeys: Rkey) -> None:
        """Take records away; those that are not there are no fault. Raises what `Pds` raises."""
        for rkey in rkeys:
            await self._pds.delete(author, collection, rkey)
        await self.seen(*(AtUri(author.did, collection, rkey) for rkey in rkeys))

    async def seen(self, *uris: AtUri) -> bool:
        """Let the index take in what these records are now; False: it does not show them within 2 s."""
        return await self._nudges.shown(uris)

    async def shown(self, *uris: AtUri) -> bool:
        """The same with more patience, also with an index that is not there just now: SHOWN_SECONDS."""
        try:
            async with asyncio.timeout(self._shown_seconds):
                while not await self.seen(*uris):  # noqa: ASYNC110  # another process sets no event of ours
                    await asyncio.sleep(AGAIN_SECONDS)
        except TimeoutError:
            return False
        return True

    def check(self, collection: Nsid, rkey: Rkey, value: Value) -> None:
        """Hold a record to its lexicon. Collections that are not ours are for their owners to judge."""
        if collection not in self.collections.all:
            return
        try:
            block: bytes = libipld.encode_dag_cbor(data_model.read(value))
        except DataModelError as error:
            raise InvalidRequest(f"The record cannot be written: {error}.") from error
        parsed = records.parse(collection, self.collections, block, rkey)
        if isinstance(parsed, records.Invalid):
            faults = [reason.partition(": ") for reason in parsed.reasons]
            raise InvalidRequest(errors=[FieldError(field=name, message=said) for name, _, said in faults])


def new_rkey() -> Rkey:
    """The key of a record that is written now."""
    return Rkey(tid_at(times.now(), secrets.randbits(10)))
