"""A nudge says that a record changed: its server is asked for proof, which is taken like any event."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

from indexer import keys, proof
from indexer.batch import RecordChange
from indexer.events import Action
from indexer.follower import Follower
from indexer.identity import Resolver
from indexer.intake import Intake
from indexer.judge import Judge
from indexer.keys import KeyFault
from indexer.outbound import Answered, Outbound, OutboundError
from indexer.proof import Proof, ProofError
from indexer.repos import Repos
from schemas.ids import AtUri, Cid, Nsid, Tid

PATIENCE_SECONDS = 20.0


class NudgeError(Exception):
    """The nudge came to nothing; the message is a sentence. `missing`: there is no such record."""

    def __init__(self, sentence: str, *, missing: bool = False) -> None:
        super().__init__(sentence)
        self.missing = missing


@dataclass(frozen=True, slots=True)
class Nudged:
    """The record as of the repo's commit `rev`, stored and searchable. No `cid`: it is gone."""

    rev: Tid
    cid: Cid | None


class Nudges:
    """A nudge needs no trust: what it brings in is what the record's own server proves."""

    def __init__(
        self,
        resolver: Resolver,
        outbound: Outbound,
        intake: Intake,
        follower: Follower,
        collections: frozenset[Nsid],
        repos: Repos,
        judge: Judge,
    ) -> None:
        self._resolver = resolver
        self._outbound = outbound
        self._intake = intake
        self._follower = follower
        self._collections = collections
        self._repos = repos
        self._judge = judge

    async def apply(self, uri: AtUri) -> Nudged:
        """Fetch, commit, and wait until it can be found. Raises NudgeError."""
        if uri.collection not in self._collections:
            raise NudgeError(f"{uri.collection} is not a collection of this index.", missing=True)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                proved = await self._prove(uri)
                await self._commit(uri, proved)
        except TimeoutError:
            raise NudgeError(f"The nudge took longer than {PATIENCE_SECONDS:.0f} seconds.") from None
        return Nudged(proved.rev, proved.cid)

    async def _prove(self, uri: AtUri) -> Proof:
        try:
            facts = await self._resolver.resolve(uri.did)
            if facts.pds is None:
                raise NudgeError(f"{uri.did} has no personal data server.", missing=True)
            key = keys.parse(facts.signing_key or "")
            proved = await proof.fetch(self._outbound, facts.pds, uri, datetime.now(UTC), key)
        except Answered as error:
            missing = error.status in (400, 404)
            raise NudgeError(
                f"The account's server does not give the record: {error}.", missing=missing
            ) from error
        except OutboundError as error:
            raise NudgeError(f"The account's server cannot be asked: {error}.") from error
        except KeyFault as error:
            raise NudgeError(f"{uri.did} has no usable signing key: {error}.") from error
        except ProofError as error:
            raise NudgeError(f"The account's server sent a proof that does not hold: {error}.") from error
        if proved.cid is None and uri.did not in self._repos:
            raise NudgeError("There is no such record.", missing=True)
        return proved

    async def _commit(self, uri: AtUri, proved: Proof) -> None:
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
