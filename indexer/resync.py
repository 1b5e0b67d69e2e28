"""Brings repos in step again: by the commits that wait if they chain, else by fetching the whole of it."""

from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final

import structlog
from prometheus_client import Counter as Total
from prometheus_client import Histogram

from indexer import keys
from indexer.batch import Fetched, IdentityFact, Mend, RepoMark
from indexer.events import Account
from indexer.hosts import NotNow
from indexer.identity import Resolver
from indexer.intake import Intake
from indexer.keys import Key
from indexer.outbound import OutboundError
from indexer.repos import Repos
from indexer.verify import Refused
from indexer.xrpc import RepoGone
from schemas.ids import Did

LOOSE_AFTER: Final = 3  # attempts, after which the commits that wait are shown without the rest
HIDING: Final = ("deactivated", "takendown", "suspended")
ROUNDS: Final = 4  # a repo that goes on changing faster than it is mended is left for later

RESYNCS = Total("fmsvc_resyncs_total", "Resyncs ended, by how.", ["result"])
SECONDS = Histogram("fmsvc_resync_seconds", "Time that one resync took, waiting for its turn included.")

log = structlog.get_logger()

Fetch = Callable[[Did, str, Key], Awaitable[Fetched]]


class OutOfStep(OutboundError):
    """The repo is not in step yet; it is worth trying again."""

    transient = True


class Resyncs:
    """`mend` is an errand: it raises OutboundError when it has to be run again."""

    def __init__(self, repos: Repos, resolver: Resolver, intake: Intake, fetch: Fetch) -> None:
        self._repos = repos
        self._resolver = resolver
        self._intake = intake
        self._fetch = fetch
        self._failures: Counter[Did] = Counter()

    async def mend(self, did: Did) -> None:
        """Bring one repo in step."""
        if self._repos[did].state == "active":
            return
        try:
            with SECONDS.time():
                await self._mend(did)
        except RepoGone as gone:
            self._gone(did, gone.status)
            raise OutOfStep(f"the server says {gone.status}") from gone
        except NotNow:
            raise  # Nothing is wrong with the repo: its server has enough to do with others.
        except (OutboundError, ValueError) as error:
            if isinstance(error, Refused) and error.check == "signature":
                self._resolver.doubt(did)
            self._failed(did, str(error))
            raise OutOfStep(str(error)) from error
        else:
            del self._failures[did]

    async def _mend(self, did: Did) -> None:
        repo = self._repos[did]
        was_gone = repo.reason in HIDING
        self._repos.become(did, RepoMark("resyncing", repo.rev, repo.data, repo.fetch, repo.reason))
        facts = await self._resolver.resolve(did)
        if (repo.key, repo.pds) != (facts.signing_key, facts.pds):
            self._repos.learn(did, facts.signing_key, facts.pds)
            self._intake.batch.identities.append(facts)
            self._intake.added(1)
        for _ in range(ROUNDS):
            fetched = await self._fetched(did, facts) if repo.fetch else None
            if fetched and was_gone:
                self._say(did, "active")
            await self._put(Mend(did, facts.signing_key or "", fetched))
            if repo.state == "active":
                RESYNCS.labels("fetched" if fetched else "chained").inc()
                return
        raise OutOfStep("commits go on coming that do not chain")

    async def _fetched(self, did: Did, facts: IdentityFact) -> Fetched:
        if facts.pds is None:
            raise OutOfStep("the account has no server")
        key = keys.parse(facts.signing_key or "")
        self._repos[did].fetch = False
        try:
            return await self._fetch(did, facts.pds, key)
        except NotNow:
            self._repos[did].fetch = True
            raise
        except (OutboundError, ValueError):
            self._repos[did].fetch = True
            if self._failures[did] + 1 == LOOSE_AFTER:
                await self._put(Mend(did, facts.signing_key or "", loose=True))
            raise

    async def _put(self, mend: Mend) -> None:
        """Put it into the batch and wait for its transaction."""
        await self._intake.room()
        repo, batch = self._repos[mend.did], self._intake.batch
        repo.mending, repo.waits = batch, False
        batch.mends.append(mend)
        records = mend.fetched.records if mend.fetched else {}
        self._intake.added(1 + len(records), sum(len(block) for _, block in records.values()))
        await (self._intake.stored() if records else self._intake.committed())

    def _gone(self, did: Did, status: str) -> None:
        """The server does not give the repo: hidden until it does, or the network says otherwise."""
        RESYNCS.labels(status).inc()
        self._repos[did].fetch = True
        # One that is not found is not removed for good: its server may have lost it for a while.
        status = status if status in HIDING else "deactivated"
        self._error(did, status)
        self._say(did, status)

    def _say(self, did: Did, status: str) -> None:
        self._intake.batch.accounts.append(Account(0, did, datetime.now(UTC), status))
        self._intake.added(1)

    def _failed(self, did: Did, reason: str) -> None:
        RESYNCS.labels("failed").inc()
        self._failures[did] += 1
        self._error(did, reason)

    def _error(self, did: Did, reason: str) -> None:
        repo = self._repos[did]
        mark = RepoMark("error", repo.rev, repo.data, repo.fetch, reason)
        self._repos.become(did, mark)
        self._intake.batch.repos[did] = mark
        self._intake.added()
