"""DID -> identity: handle verified in both directions, PDS, signing key. Cached, single-flight, guarded."""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from prometheus_client import Counter, Histogram

from indexer.events import IdentityFact
from indexer.network.http.client import (
    Answered,
    Client,
    NoSuchHost,
    NotNow,
    Outbound,
    OutboundError,
    Unreachable,
)
from indexer.network.identity import did_documents
from indexer.network.identity.did_documents import Document
from indexer.network.identity.handles import Handles
from indexer.network.identity.plc_directory import NO_SUCH_DOCUMENT, PlcDirectory
from schemas.backoff import Backoff
from schemas.ids import INVALID_HANDLE, Did, Handle

KEEP_SECONDS = 3600.0
# How long a failure is cached, or an answer without a handle or key: a hiccup must not hide a new account's
# records for long, and a directory that is down is not asked by every event.
KEEP_INCOMPLETE = Backoff(first_seconds=1.0, longest_seconds=60.0)
KEPT = 50_000
DOUBT_SECONDS = 10.0
LOOKS = 6  # look-ups of one identity within
LOOKS_SECONDS = 60.0
LOOKS_RETRIES = 10.0  # the same in retries, where those are quick: a flood comes quicker still
DOCUMENT_BYTES = 64 << 10
LOG_BYTES = 1 << 20
DOCUMENT_SECONDS = 8.0

LOOKUPS = Counter(
    "fmsvc_identity_lookups_total", "Identities asked for, by where the answer was.", ["answer"]
)
LATENCY = Histogram("fmsvc_identity_seconds", "Time that one identity took to resolve over the network.")


@dataclass(frozen=True, slots=True)
class _Kept:
    """A cached answer. `incomplete`: how many in a row, with this one, were failures or incomplete."""

    answer: IdentityFact | OutboundError
    since: float
    until: float
    incomplete: int = 0


class Resolver:
    """Resolves did:plc and did:web. A DID that does not exist has no PDS and an invalid handle.

    `operators`: the client for the PLC directory, if the operator set it; else `outbound`. Of one identity
    there are LOOKS look-ups in a minute at most.
    """

    def __init__(
        self,
        outbound: Outbound,
        handles: Handles,
        *,
        plc_url: str,
        operators: Client | None = None,
        allow_loopback: bool = False,
        retry_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._outbound = outbound
        self._directory = PlcDirectory(operators or outbound, retry_seconds, clock)
        self._handles = handles
        self._plc_url = plc_url
        self._allow_loopback = allow_loopback
        self._keep_incomplete_for = KEEP_INCOMPLETE.within(retry_seconds)
        self._doubt_seconds = min(DOUBT_SECONDS, retry_seconds or inf)
        self._looks_seconds = min(LOOKS_SECONDS, LOOKS_RETRIES * (retry_seconds or inf))
        self._clock = clock
        self._kept: OrderedDict[Did, _Kept] = OrderedDict()
        self._flights: dict[Did, asyncio.Task[IdentityFact]] = {}
        self._looked: OrderedDict[Did, deque[float]] = OrderedDict()

    async def resolve(self, did: Did) -> IdentityFact:
        """Resolve a DID. Raises OutboundError when no look-up is possible; that is cached too, shortly."""
        kept = self._kept.get(did)
        if kept is not None and self._clock() < kept.until:
            LOOKUPS.labels("cache").inc()
            if isinstance(kept.answer, OutboundError):
                raise kept.answer.with_traceback(None)
            return kept.answer
        flight = self._flights.get(did)
        if flight is None:
            LOOKUPS.labels("network").inc()
            flight = self._flights[did] = asyncio.create_task(self._fly(did))
        # One caller giving up must not fail the others.
        return await asyncio.shield(flight)

    async def former_keys(self, did: Did) -> tuple[str, ...]:
        """The account's signing keys, newest first; only did:plc has a log of them. Raises OutboundError."""
        if not did.startswith("did:plc:"):
            return ()
        log = await self._directory.fetch(f"{self._plc_url}/{did}/log", LOG_BYTES)
        try:
            return did_documents.former_keys(log)
        except ValueError:
            return ()

    def remember(self, facts: IdentityFact, seconds_ago: float) -> None:
        """Cache an identity that was resolved before the last restart, so long ago."""
        if not _is_incomplete(facts):
            self._keep(facts.did, facts, KEEP_SECONDS - seconds_ago)

    def forget(self, did: Did) -> None:
        """Drop the cached identity, which may have changed, and ignore a look-up in flight."""
        self._kept.pop(did, None)
        self._flights.pop(did, None)

    def forget_all(self) -> None:
        """Drop all cached identities: any may have changed."""
        for did in [*self._kept, *self._flights]:
            self.forget(did)

    def doubt(self, did: Did) -> None:
        """Drop a cached identity unless it is new: forged commits, too, suggest that it is outdated."""
        kept = self._kept.get(did)
        if kept is not None and self._clock() - kept.since >= self._doubt_seconds:
            self.forget(did)

    def holds(self, facts: IdentityFact) -> bool:
        """True when this is still the cached identity; False when it was dropped since."""
        kept = self._kept.get(facts.did)
        return kept is not None and kept.answer is facts

    async def _fly(self, did: Did) -> IdentityFact:
        """Look up, and cache the outcome before any caller has it, unless the DID was forgotten meanwhile."""
        try:
            answer: IdentityFact | OutboundError = await self._look_up(did)
        except OutboundError as error:
            answer = error
        finally:
            is_current = self._flights.get(did) is asyncio.current_task()
            if is_current:
                del self._flights[did]
        if isinstance(answer, OutboundError):
            if is_current and not answer.unasked:
                self._keep_incomplete(did, answer)
            raise answer
        if is_current and _is_incomplete(answer):
            self._keep_incomplete(did, answer)
        elif is_current:
            self._keep(did, answer, KEEP_SECONDS)
        return answer

    def _keep_incomplete(self, did: Did, answer: IdentityFact | OutboundError) -> None:
        times = 1 + (self._kept[did].incomplete if did in self._kept else 0)
        self._keep(did, answer, self._keep_incomplete_for.full_pause(times), times)

    def _keep(self, did: Did, answer: IdentityFact | OutboundError, seconds: float, times: int = 0) -> None:
        now = self._clock()
        self._kept[did] = _Kept(answer, now, now + seconds, times)
        self._kept.move_to_end(did)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def _note_look_up(self, did: Did) -> None:
        """Limit look-ups of one identity: any account or relay can cause them, by a flood of events."""
        looked = self._looked.setdefault(did, deque(maxlen=LOOKS))
        self._looked.move_to_end(did)
        while len(self._looked) > KEPT:
            self._looked.popitem(last=False)
        now = self._clock()
        if len(looked) == LOOKS and (seconds := looked[0] + self._looks_seconds - now) > 0:
            raise NotNow("this identity was looked up several times just now", seconds)
        looked.append(now)

    async def _look_up(self, did: Did) -> IdentityFact:
        if did.startswith("did:plc:"):
            self._directory.require()
        self._note_look_up(did)
        with LATENCY.time():
            document = await self._document(did)
            if document is None:
                return IdentityFact(did, INVALID_HANDLE, None, None)
            handle = await self._handle(did, document.handle)
            keys = document.signing_key, document.space_host, document.space_key
            labels = document.labeler, document.label_key
            return IdentityFact(did, handle, document.pds, *keys, *labels)

    async def _document(self, did: Did) -> Document | None:
        """The DID's document; None when it does not exist or cannot be used."""
        url = did_documents.document_url(did, self._plc_url, allow_loopback=self._allow_loopback)
        if url is None:
            return None
        try:
            if did.startswith("did:plc:"):
                body = await self._directory.fetch(url, DOCUMENT_BYTES)
            else:
                body = await self._outbound.fetch(url, DOCUMENT_BYTES, DOCUMENT_SECONDS)
            return did_documents.parse_document(did, body, allow_loopback=self._allow_loopback)
        except Answered as answered:
            if answered.status not in NO_SUCH_DOCUMENT:
                raise Unreachable(f"instead of the DID document, {answered}") from answered
            return None
        except NoSuchHost as error:
            if did.startswith("did:web:"):
                return None
            raise Unreachable("the directory's name does not resolve") from error
        except OutboundError as error:
            if error.transient:
                raise
            return None
        except ValueError:
            return None

    async def _handle(self, did: Did, claimed: Handle | None) -> Handle | None:
        """The claimed handle when it names this DID in turn; None when no look-up was possible."""
        if claimed is None:
            return INVALID_HANDLE
        try:
            return claimed if await self._handles.find(claimed) == did else INVALID_HANDLE
        except OutboundError:
            return None


def _is_incomplete(facts: IdentityFact) -> bool:
    """Whether a part that is usually there is missing: a labeler may have the key of its labels alone."""
    return facts.handle is None or (facts.signing_key is None and facts.label_key is None)
