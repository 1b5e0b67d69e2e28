"""Brings repos in step again: by the commits that wait if they chain, else by fetching the whole of it."""

import contextlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from math import inf
from typing import Final

import structlog
from prometheus_client import Counter as Total
from prometheus_client import Histogram

from indexer import faults, keys
from indexer.batch import Fetched, IdentityFact, Mend, RepoMark, State
from indexer.identity import Resolver
from indexer.intake import Intake
from indexer.keys import Key
from indexer.mends import WENT_BACK
from indexer.outbound import NotNow, OutboundError, TooLarge
from indexer.repos import Repos
from indexer.verify import Refused
from indexer.xrpc import RepoGone
from schemas.ids import Did

LOOSE_AFTER: Final = 3  # attempts, after which the commits that wait are shown without the rest
ROUNDS: Final = 4  # a repo that goes on changing faster than it is mended is left for later
BUSY_SECONDS: Final = 5.0
REST_SECONDS: Final = 30.0  # from one fetch that only proves what is shown to the next; or, where that is
REST_TIMES: Final = 20.0  # longer, so many times what the fetch took
FORMER_SECONDS: Final = 900.0  # in which a repo is fetched once more for each of the keys that it had before
TOO_LARGE_SECONDS: Final = 86400.0  # it costs much each time, and repos seldom shrink

RESYNCS = Total("fmsvc_resyncs_total", "Resyncs ended, by how.", ["result"])
SECONDS = Histogram("fmsvc_resync_seconds", "Time that one resync took, waiting for its turn included.")

log = structlog.get_logger()

Fetch = Callable[[Did, str, Key], Awaitable[Fetched]]


class OutOfStep(OutboundError):
    """The repo is not in step yet; it is worth trying again."""

    transient = True


class Behind(OutOfStep):
    """The server shows less than we know. It may catch up, or its account write something new."""


class Resyncs:
    """`mend` is an errand: it raises OutboundError when it has to be run again.

    `away`: does the relay say that this account is not active? `retry_seconds`: the longest rest between
    fetches that are quick.
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

    async def mend(self, did: Did) -> None:
        """Bring one repo in step."""
        if self._repos[did].state == "active":
            return
        self._rest(did)
        try:
            with SECONDS.time():
                await self._mend(did)
        except NotNow:
            raise  # Nothing is wrong with the repo: its server has enough to do with others.
        except RepoGone as gone:
            RESYNCS.labels(gone.status).inc()
            # Hidden until its server gives it again. Removed only if the relay calls it deleted too: a server
            # may have lost it for a while.
            self._intake.batch.refusals[did] = gone.status
            await self._intake.committed()
            self._resolver.doubt(did)  # The account may live somewhere else by now.
            if self._away(did) and not self._repos[did].waits:
                del self._failures[did]
                self._leave(did, "pending", str(gone))
                return  # There is nothing to fetch before it comes back or writes, and then it is asked for.
            self._failed(did, str(gone))
            raise OutOfStep(str(gone)) from gone
        except Behind as behind:
            RESYNCS.labels("behind").inc()
            # Not an error: the next commit may lead on from what the server has, and has it asked at once.
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
            faults.reason("resync", error)
            log.warning("resync broke", did=did)
            self._failed(did, "the resync broke off")
            raise OutOfStep("the resync broke off") from error
        else:
            del self._failures[did]

    async def _mend(self, did: Did) -> None:
        repo = self._repos[did]
        self._repos.become(did, RepoMark("resyncing", repo.rev, repo.data, repo.fetch, repo.reason))
        facts = await self._resolver.resolve(did)
        self._learn(facts)
        if facts.pds is None and self._away(did):
            raise RepoGone("deleted", witness="the DID document")  # No server is left that could know better.
        key = keys.parse(facts.signing_key or "")
        for _ in range(ROUNDS):
            fetched = await self._fetched(facts, key) if repo.fetch else None
            await self._intake.room()
            await self._put(Mend(did, key, fetched, again=fetched is not None and repo.fetch))
            if repo.state == "active":
                repo.loose = False
                RESYNCS.labels("fetched" if fetched else "chained").inc()
            if repo.state != "resyncing":  # in step; or out of it anew, and asked for anew
                return
            if repo.reason == WENT_BACK:
                raise Behind(WENT_BACK)
            self._rest(did)
        raise NotNow("commits come faster than they can be replayed", BUSY_SECONDS)

    def _rest(self, did: Did) -> None:
        """Let changes that come in a burst be proven by few fetches. Raises NotNow."""
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
                await self._put(Mend(facts.did, key, loose=True))
            raise
        ended = time.monotonic()
        repo.rests_until = ended + max(self._rest_seconds, (ended - began) * REST_TIMES)
        return fetched

    async def _proven(self, did: Did, pds: str, key: Key) -> Fetched:
        """Fetch it. A server that a repo has moved to does not sign it anew: the next commit does."""
        until = time.monotonic() + FORMER_SECONDS
        try:
            return await self._fetch(did, pds, key)
        except Refused as refused:
            # At the second attempt, the key is not an outdated one of ours.
            if refused.check != "signature" or not self._failures[did]:
                raise
            for former in await self._resolver.former_keys(did):
                if time.monotonic() > until:
                    break
                with contextlib.suppress(Refused, keys.KeyFault):
                    return await self._fetch(did, pds, keys.parse(former))
            raise

    async def _put(self, mend: Mend) -> None:
        """Put it into the batch, at once, and wait for its transaction."""
        repo, batch = self._repos[mend.did], self._intake.batch
        repo.mending, repo.waits = batch, False
        batch.mends.append(mend)
        if mend.fetched:
            batch.refusals.pop(mend.did, None)
        if mend.fetched and not mend.again:
            batch.again.discard(mend.did)  # That was said before the fetch began.
        records = mend.fetched.records if mend.fetched else {}
        self._intake.added(1 + len(records), sum(len(block) for _, block in records.values()))
        await (self._intake.stored() if records else self._intake.committed())

    def _failed(self, did: Did, reason: str) -> None:
        RESYNCS.labels("failed").inc()
        self._failures[did] += 1
        self._leave(did, "error", reason)

    def _leave(self, did: Did, state: State, reason: str) -> None:
        repo = self._repos[did]
        mark = RepoMark(state, repo.rev, repo.data, repo.fetch, reason)
        self._repos.become(did, mark)
        self._intake.batch.repos[did] = mark
        self._intake.added(1)
