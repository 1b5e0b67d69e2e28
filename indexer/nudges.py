"""A nudge says that a record changed: its server is asked for proof, which is taken like any event."""

import asyncio
from dataclasses import dataclass

from indexer.batch import RecordChange
from indexer.events import Action
from indexer.follower import Follower
from indexer.intake import Intake
from indexer.judge import Judge
from indexer.proof import Proof
from indexer.prover import NotProven, Prover
from indexer.repos import Repos
from schemas.ids import AtUri, Cid, Nsid, Tid

PATIENCE_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Nudged:
    """The record as of the repo's commit `rev`, stored and searchable. No `cid`: it is gone.

    `op`: the outbox entry with which the index can show it.
    """

    rev: Tid
    cid: Cid | None
    op: int


class Nudges:
    """A nudge needs no trust: what it brings in is what the record's own server proves."""

    def __init__(
        self,
        prover: Prover,
        intake: Intake,
        follower: Follower,
        collections: frozenset[Nsid],
        repos: Repos,
        judge: Judge,
    ) -> None:
        self._prover = prover
        self._intake = intake
        self._follower = follower
        self._collections = collections
        self._repos = repos
        self._judge = judge

    async def apply(self, uri: AtUri) -> Nudged:
        """Fetch, commit, and wait until it can be found. Raises NotProven."""
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
        self._judge.happened("listed", uri.did, batch, "nudged")
        self._intake.added(1, len(proved.block or b""))
        written = await self._intake.committed()
        await self._follower.reached(written.op)
        return written.op
