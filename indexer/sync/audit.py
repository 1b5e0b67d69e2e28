"""The audit: compares each repo's rev with its PDS, to find commits that were lost without a trace.

Every repo is compared once a day at a time of its own, so that the work is spread and no list of it need be
kept. A PDS that is ahead of us is only a suspect at first: the stream may be about to deliver the commit, or
the account's move to another PDS.
"""

import asyncio
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final, Literal

import prometheus_client
import structlog

from indexer import faults
from indexer.network import xrpc
from indexer.network.http.client import Answered, NotNow, Outbound, OutboundError
from indexer.network.http.throttle import HostTurns
from indexer.repo import car, dag_cbor
from indexer.repo.car import CarError
from indexer.repo.dag_cbor import CborError
from schemas import data_model
from schemas.data_model import DataModelError
from schemas.ids import Did, Tid, is_tid

PERIOD_SECONDS: Final = 86_400
LOOK_SECONDS: Final = 60.0
AT_A_TIME: Final = 2000  # repos that are looked at before others have their turn: about a millisecond
GRACE_SECONDS: Final = 60.0
AT_ONCE_AT_A_HOST: Final = 2
HOST_SECONDS: Final = 3600.0  # repos of a host that are not compared in that time are left for another day
LEAST_PAUSE_SECONDS: Final = 1.0
ANSWER_BYTES: Final = 8 << 10
ANSWER_SECONDS: Final = 15.0

Outcome = Literal["same", "drifted", "gone", "moved", "in repair", "unreachable"]

AUDITED = prometheus_client.Counter(
    "fmsvc_audited_total", "Repos compared with their servers, by what came of it.", ["outcome"]
)
DRIFT = prometheus_client.Counter(
    "fmsvc_drift_found_total", "Repos that were not as their servers have them, though we thought so."
)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Audited:
    """An active repo to be compared; `rev` is the newest one that we have."""

    did: Did
    pds: str
    rev: Tid


@dataclass(frozen=True, slots=True)
class Suspect:
    """A repo with another `rev` at its PDS; None: the PDS did not have the repo."""

    repo: Audited
    rev: Tid | None


class Audit:
    """`repos` are all repos at every moment, `ours` gives our state of one; None: it is not active.

    `drifted` is called with each repo that has to be fetched again.
    """

    def __init__(
        self,
        outbound: Outbound,
        hosts: HostTurns,
        *,
        repos: Iterable[Did],
        ours: Callable[[Did], Audited | None],
        drifted: Callable[[Did], None],
        grace_seconds: float = GRACE_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._outbound = outbound
        self._hosts = hosts
        self._repos = repos
        self._ours = ours
        self._drifted = drifted
        self._grace_seconds = grace_seconds
        self._clock = clock

    async def run(self) -> None:
        """Compare each repo at its own time of day, until cancelled."""
        looked = self._clock()
        async with asyncio.TaskGroup() as group:
            while True:
                await asyncio.sleep(LOOK_SECONDS)
                now = self._clock()
                due = await self._active(partial(is_due, after=looked, until=now))
                # A slow host must not delay the repos of the others.
                group.create_task(self.check(due))
                looked = now

    async def check_all(self) -> Counter[Outcome]:
        """Compare every repo now."""
        return await self.check(await self._active())

    async def _active(self, is_wanted: Callable[[Did], bool] = lambda did: True) -> list[Audited]:
        """The active ones of the wanted repos, of which there may be millions: others have their turns."""
        dids, found = iter(list(self._repos)), list[Audited]()
        while some := list(islice(dids, AT_A_TIME)):
            found += filter(None, map(self._ours, filter(is_wanted, some)))
            await asyncio.sleep(0)
        return found

    async def check(self, repos: Iterable[Audited]) -> Counter[Outcome]:
        """Compare these repos, and have those fetched that differ. Returns the number of repos by outcome."""
        outcomes, suspects = Counter[Outcome](), list[Suspect]()
        lines = _lines(repos)
        async with asyncio.TaskGroup() as group:
            for line in lines:
                group.create_task(self._work(line, outcomes, suspects))
        if suspects:
            await asyncio.sleep(self._grace_seconds)
        for suspect in suspects:
            outcomes[self._settle(suspect)] += 1
        for outcome, count in outcomes.items():
            AUDITED.labels(outcome).inc(count)
        return outcomes

    async def _work(self, line: list[Audited], outcomes: Counter[Outcome], suspects: list[Suspect]) -> None:
        """Compare one host's repos one after the other."""
        loop = asyncio.get_running_loop()
        until = loop.time() + HOST_SECONDS
        for done, repo in enumerate(line):
            try:
                async with asyncio.timeout_at(until):
                    rev = await self._ask(repo)
            except TimeoutError:
                outcomes["unreachable"] += len(line) - done
                return
            except OutboundError as error:
                log.info("audit failed", did=repo.did, reason=str(error))
                outcomes["unreachable"] += 1
                continue
            except BaseException as error:
                if faults.is_fatal(error):
                    raise
                faults.record_fault("audit", error)
                outcomes["unreachable"] += 1
                continue
            ours = self._ours(repo.did) or repo
            if rev is not None and rev in (repo.rev, ours.rev):
                outcomes["same"] += 1
            else:
                suspects.append(Suspect(repo, rev))

    async def _ask(self, repo: Audited) -> Tid | None:
        """The newest rev at the PDS; None when it does not have the repo. Raises OutboundError."""
        while True:
            try:
                async with self._hosts.turn(repo.pds):
                    return await self._latest(repo)
            except NotNow as refusal:
                await asyncio.sleep(refusal.retry_after)
            except Answered as refusal:
                if refusal.status != 429:
                    raise
                await asyncio.sleep(LEAST_PAUSE_SECONDS)

    async def _latest(self, repo: Audited) -> Tid | None:
        method = "com.atproto.sync.getLatestCommit"
        try:
            answer = await xrpc.run_query(
                self._outbound, repo.pds, method, ANSWER_BYTES, ANSWER_SECONDS, did=repo.did
            )
        except Answered as refusal:
            if xrpc.gone_state(refusal) is None:
                raise
            return None
        rev = answer.get("rev")
        if not isinstance(rev, str) or not is_tid(rev):
            raise xrpc.BadAnswer("the rev is not a TID")
        return Tid(rev) if rev == repo.rev else await self._signed(repo, answer.get("cid")) or Tid(rev)

    async def _signed(self, repo: Audited, cid: object) -> Tid | None:
        """Read the rev in the commit object of this CID; None when the PDS does not have it.

        A PDS that a repo was migrated to reports the time of the migration as the rev of an older commit.
        """
        try:
            link = data_model.read_link(cid)
            url = xrpc.query_url(repo.pds, "com.atproto.sync.getBlocks", did=repo.did, cids=str(cid))
            answer = await self._outbound.fetch(url, ANSWER_BYTES, ANSWER_SECONDS)
            commit = dag_cbor.decode_block(car.read_car(answer, ANSWER_BYTES).blocks.get(link, b""))
        except OutboundError as error:
            if error.transient:
                raise
            return None
        except (DataModelError, CarError, CborError):
            return None
        rev = commit.get("rev") if isinstance(commit, dict) else None
        return Tid(rev) if isinstance(rev, str) and is_tid(rev) else None

    def _settle(self, suspect: Suspect) -> Outcome:
        """The suspect's outcome after the grace period; a repo that still differs is reported as drifted."""
        ours = self._ours(suspect.repo.did)
        if ours is None:
            return "in repair"
        if ours.pds != suspect.repo.pds:
            return "moved"
        if ours.rev == suspect.rev:
            return "same"
        if suspect.rev is not None and suspect.repo.rev < suspect.rev < ours.rev:
            return "same"
        log.warning("drift found", did=suspect.repo.did, ours=ours.rev, theirs=suspect.rev)
        DRIFT.inc()
        self._drifted(suspect.repo.did)
        return "gone" if suspect.rev is None else "drifted"


def is_due(did: Did, after: float, until: float, period: int = PERIOD_SECONDS) -> bool:
    """True when the repo's own time of day lies between two instants of the clock."""
    instant = zlib.crc32(did.encode()) / (1 << 32) * period
    return (until - instant) // period > (after - instant) // period


def _lines(repos: Iterable[Audited]) -> list[list[Audited]]:
    """The repos in a few queues for each host, so that a slow host delays no other."""
    of_hosts = defaultdict[str, list[Audited]](list)
    for repo in repos:
        of_hosts[repo.pds].append(repo)
    return [
        line
        for of_host in of_hosts.values()
        for start in range(AT_ONCE_AT_A_HOST)
        if (line := of_host[start::AT_ONCE_AT_A_HOST])
    ]
