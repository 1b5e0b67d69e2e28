"""Nudges: a client says that a record changed; the PDS's proof of it is applied like an event."""

import asyncio
from dataclasses import dataclass

from indexer.catalog.writing.intake import Intake
from indexer.control.prove import NotProven, Prover
from indexer.events import Action
from indexer.repo.changes import RecordChange
from indexer.repo.proof import Proof
from indexer.search.follower import Follower
from indexer.sync.apply_event import EventApplier
from indexer.sync.states import Repos
from schemas.ids import AtUri, Cid, Nsid, Tid

PATIENCE_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Nudged:
    """The record as of the repo's commit `rev`, stored and searchable. `cid` is None for a deleted record.

    `op`: the outbox entry up to which the search index has to follow to show it.
    """

    rev: Tid
    cid: Cid | None
    op: int


class Nudges:
    """Applies nudges. They need no authentication: only what the record's own PDS proves is stored."""

    def __init__(
        self,
        prover: Prover,
        intake: Intake,
        follower: Follower,
        collections: frozenset[Nsid],
        repos: Repos,
        applier: EventApplier,
    ) -> None:
        self._prover = prover
        self._intake = intake
        self._follower = follower
        self._collections = collections
        self._repos = repos
        self._applier = applier

    async def apply(self, uri: AtUri) -> Nudged:
        """Fetch the proof, commit it, and wait until the record is searchable. Raises NotProven."""
        if uri.collection not in self._collections:
            raise NotProven(f"{uri.collection} is not a collection of this index.", missing=True)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                proved = await self._prove(uri)
                op = await self._commit(uri, proved)
        except TimeoutError:
            raise NotProven(f"The nudge took longer than {PATIENCE_SECONDS:.0f} seconds.") from None
        return Nudged(proved.rev, proved.cid, op)

    async def _prove(self, uri: AtUri) -> Proof:
        proved = (await self._prover.prove(uri)).proof
        if proved.cid is None and uri.did not in self._repos:
            raise NotProven("There is no such record.", missing=True)
        return proved

    async def _commit(self, uri: AtUri, proved: Proof) -> int:
        action: Action = "delete" if proved.cid is None else "update"
        batch = self._intake.batch
        batch.changes.append(
            RecordChange(
                uri.did,
                uri.collection,
                uri.rkey,
                proved.rev,
                action,
                proved.cid,
                proved.block,
                "proof",
            )
        )
        self._applier.happened("listed", uri.did, batch, "nudged")
        self._intake.added(1, len(proved.block or b""))
        written = await self._intake.committed()
        await self._follower.reached(written.op)
        return written.op
