"""Resyncs repos: by replaying the waiting commits if they chain, else by fetching the whole repo."""

import contextlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from math import inf
from typing import Final

import structlog
from prometheus_client import Counter as Total
from prometheus_client import Histogram

from indexer import faults
from indexer.catalog.writing.apply_resync import WENT_BACK
from indexer.catalog.writing.batch import ResyncResult
from indexer.catalog.writing.intake import Intake
from indexer.events import IdentityFact
from indexer.network.http.client import NotNow, OutboundError, TooLarge
from indexer.network.identity.resolver import Resolver
from indexer.network.xrpc import RepoGone
from indexer.repo import signing_keys
from indexer.repo.changes import RepoHead, State
from indexer.repo.extract import Fetched
from indexer.repo.signing_keys import Key
from indexer.repo.verify import Refused
from indexer.sync.states import Repos
from schemas.ids import Did

LOOSE_AFTER: Final = 3  # failed attempts, after which waiting commits are applied though they do not chain
ROUNDS: Final = 4  # a repo that changes faster than it is resynced is left for later
BUSY_SECONDS: Final = 5.0
REST_SECONDS: Final = 30.0  # between two fetches that only verify shown records; or, where that is longer,
REST_TIMES: Final = 20.0  # so many times the duration of the fetch
FORMER_SECONDS: Final = 900.0  # for attempts to verify a repo with the keys that its account had before
TOO_LARGE_SECONDS: Final = 86400.0  # each attempt is expensive, and repos seldom shrink

RESYNCS = Total("fmsvc_resyncs_total", "Resyncs ended, by how.", ["result"])
SECONDS = Histogram("fmsvc_resync_seconds", "Time that one resync took, waiting for its turn included.")

log = structlog.get_logger()

Fetch = Callable[[Did, str, Key], Awaitable[Fetched]]


class OutOfStep(OutboundError):
    """The resync failed; the retry queue tries it again."""

    transient = True


class Behind(OutOfStep):
    """The PDS shows an older state than ours. It may catch up, or the account may write a new commit."""


class Resyncs:
    """`run` is the work of a retry queue: it raises OutboundError to be tried again later.

    `away`: whether the relay says that an account is not active. `retry_seconds`: the longest rest between
    two quick fetches.
    """

    def __init__(
        self,
        repos: Repos,
        resolver: Resolver,
        intake: Intake,
        fetch: Fetch,
        away: Callable[[Did], bool],
        retry_seconds: float | None = None,
    ) -> None:
        self._repos = repos
        self._resolver = resolver
        self._intake = intake
        self._fetch = fetch
        self._away = away
        self._rest_seconds = min(REST_SECONDS, retry_seconds or inf)
        self._failures: Counter[Did] = Counter()

    async def run(self, did: Did) -> None:
        """Resync one repo. Raises OutboundError."""
        if self._repos[did].state == "active":
            return
        self._rest(did)
        try:
            with SECONDS.time():
                await self._run(did)
        except NotNow:
            raise  # The repo did not fail: its PDS is busy with others.
        except RepoGone as gone:
            RESYNCS.labels(gone.status).inc()
            # Hidden until its PDS serves it again. Removed only if the relay calls it deleted too: a PDS may
            # have lost it for a while.
            self._intake.batch.refusals[did] = gone.status
            await self._intake.committed()
            self._resolver.doubt(did)  # The account may have moved to another PDS.
            if self._away(did) and not self._repos[did].waits:
                del self._failures[did]
                self._leave(did, "pending", str(gone))
                return  # When the account comes back or writes, that event queues the resync.
            self._failed(did, str(gone))
            raise OutOfStep(str(gone)) from gone
        except Behind as behind:
            RESYNCS.labels("behind").inc()
            # Not an error: the next commit may chain onto the state of the PDS, and queues a resync at once.
            self._leave(did, "desynchronized", str(behind))
            raise
        except (OutboundError, ValueError) as error:
            if isinstance(error, Refused) and error.check == "signature":
                self._resolver.doubt(did)
            self._failed(did, str(error))
            if isinstance(error, TooLarge):
                raise NotNow(str(error), TOO_LARGE_SECONDS) from error
            raise OutOfStep(str(error)) from error
        except BaseException as error:
            if not isinstance(error, Exception) and not faults.is_panic(error):
                raise
            faults.record_fault("resync", error)
            log.warning("resync broke", did=did)
            self._failed(did, "the resync broke off")
            raise OutOfStep("the resync broke off") from error
        else:
            del self._failures[did]

    async def _run(self, did: Did) -> None:
        repo = self._repos[did]
        self._repos.become(did, RepoHead("resyncing", repo.rev, repo.data, repo.fetch, repo.reason))
        repo.lacks_key = True
        facts = await self._resolver.resolve(did)
        self._learn(facts)
        if facts.pds is None and self._away(did):
            raise RepoGone("deleted", witness="the DID document")  # No PDS is left to ask.
        key = signing_keys.parse_key(facts.signing_key or "")
        repo.lacks_key = False
        for _ in range(ROUNDS):
            fetched = await self._fetched(facts, key) if repo.fetch else None
            await self._intake.room()
            await self._put(ResyncResult(did, key, fetched, again=fetched is not None and repo.fetch))
            if repo.state == "active":
                repo.loose = False
                RESYNCS.labels("fetched" if fetched else "chained").inc()
            if repo.state != "resyncing":  # active; or out of step again, and queued again
                return
            if repo.reason == WENT_BACK:
                raise Behind(WENT_BACK)
            self._rest(did)
        raise NotNow("commits come faster than they can be replayed", BUSY_SECONDS)

    def _rest(self, did: Did) -> None:
        """Postpone a fetch that only verifies, so that few cover a burst of changes. Raises NotNow."""
        repo = self._repos[did]
        seconds = repo.rests_until - time.monotonic()
        if repo.fetch and not repo.urgent and seconds > 0:
            if repo.state == "resyncing":
                self._leave(did, "desynchronized", "changes came without proof")
            raise NotNow("it was fetched just now", seconds)

    def _learn(self, facts: IdentityFact) -> None:
        repo = self._repos[facts.did]
        if (repo.key, repo.pds) != (facts.signing_key, facts.pds):
            self._repos.learn(facts.did, facts.signing_key, facts.pds)
            self._intake.batch.identities.append(facts)
            self._intake.added(1)

    async def _fetched(self, facts: IdentityFact, key: Key) -> Fetched:
        if facts.pds is None:
            raise OutOfStep("the account has no server")
        repo = self._repos[facts.did]
        urgent, repo.fetch, repo.urgent = repo.urgent, False, False
        began = time.monotonic()
        try:
            fetched = await self._proven(facts.did, facts.pds, key)
        except Exception as error:
            repo.fetch, repo.urgent = True, repo.urgent or urgent
            attempts = LOOSE_AFTER if isinstance(error, TooLarge) else self._failures[facts.did] + 1
            if not isinstance(error, NotNow) and attempts >= LOOSE_AFTER:
                repo.loose = True
                await self._intake.room()
                await self._put(ResyncResult(facts.did, key, loose=True))
            raise
        ended = time.monotonic()
        repo.rests_until = ended + max(self._rest_seconds, (ended - began) * REST_TIMES)
        return fetched

    async def _proven(self, did: Did, pds: str, key: Key) -> Fetched:
        """Fetch and verify a repo. After a migration, the newest commit is still signed with a former key."""
        until = time.monotonic() + FORMER_SECONDS
        try:
            return await self._fetch(did, pds, key)
        except Refused as refused:
            # At the second attempt, the key is not merely outdated in our cache.
            if refused.check != "signature" or not self._failures[did]:
                raise
            for former in await self._resolver.former_keys(did):
                if time.monotonic() > until:
                    break
                with contextlib.suppress(Refused, signing_keys.KeyFault):
                    return await self._fetch(did, pds, signing_keys.parse_key(former))
            raise

    async def _put(self, resync: ResyncResult) -> None:
        """Put a result into the batch, and wait until its transaction is committed."""
        repo, batch = self._repos[resync.did], self._intake.batch
        repo.resync_batch, repo.waits = batch, False
        batch.resyncs.append(resync)
        if resync.fetched:
            batch.refusals.pop(resync.did, None)
        if resync.fetched and not resync.again:
            batch.again.discard(resync.did)  # The reason to fetch again came before this fetch began.
        records = resync.fetched.records if resync.fetched else {}
        self._intake.added(1 + len(records), sum(len(block) for _, block in records.values()))
        await (self._intake.stored() if records else self._intake.committed())

    def _failed(self, did: Did, reason: str) -> None:
        RESYNCS.labels("failed").inc()
        self._failures[did] += 1
        self._leave(did, "error", reason)

    def _leave(self, did: Did, state: State, reason: str) -> None:
        repo = self._repos[did]
        mark = RepoHead(state, repo.rev, repo.data, repo.fetch, reason)
        self._repos.become(did, mark)
        self._intake.batch.repos[did] = mark
        self._intake.added(1)
