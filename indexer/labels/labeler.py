"""One labeler: its address and key from its DID document, and the labels in what it says that hold."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import libipld
from prometheus_client import Counter

from indexer.catalog.tables.dead_letters import DeadLetter
from indexer.labels.signed import BadLabel, SignedLabel, is_ours, read_label
from indexer.network.identity.resolver import Resolver
from indexer.repo.signing_keys import Key, KeyFault, parse_key
from schemas.ids import Did, Nsid
from schemas.labels import Label

AT_ONCE: Final = 64  # labels that are verified before other work has its turn: some ten milliseconds
MOST_BYTES_KEPT: Final = 16 << 10  # of a refused label

LABELS = Counter("fmsvc_labels_total", "Labels received, by what became of them.", ["labeler", "outcome"])


class Endpoint(NamedTuple):
    """Where a labeler answers, and the key of its signatures."""

    url: str
    key: Key


class NoLabeler(Exception):
    """The DID document names no labeler; the message is a sentence."""


class Checked(NamedTuple):
    """The labels that hold, and the others with the reasons."""

    labels: list[Label]
    refused: list[DeadLetter]


class Labeler:
    """A labeler by its DID."""

    def __init__(self, did: Did, resolver: Resolver, collections: frozenset[Nsid]) -> None:
        self.did = did
        self._resolver = resolver
        self._collections = collections

    async def find_endpoint(self) -> Endpoint:
        """Resolve the labeler's document; cached. Raises NoLabeler and OutboundError."""
        facts = await self._resolver.resolve(self.did)
        if facts.labeler is None or facts.label_key is None:
            self._resolver.doubt(self.did)  # one that was remembered from before a restart lacks both
            facts = await self._resolver.resolve(self.did)
        if facts.labeler is None or facts.label_key is None:
            raise NoLabeler(f"The DID document of {self.did} names no labeler and its key.")
        try:
            return Endpoint(facts.labeler, parse_key(facts.label_key))
        except KeyFault as error:
            raise NoLabeler(
                f"The DID document of {self.did} has no usable key of a labeler: {error}."
            ) from None

    async def check(self, given: Sequence[object], seq: int | None = None) -> Checked:
        """Verify labels of our subjects; one with a bad signature again, with the key resolved anew.

        Raises NoLabeler and OutboundError.
        """
        now = datetime.now(UTC)
        ours = [one for one in given if is_ours(one, self._collections)]
        self._count("other", len(given) - len(ours))
        checked = Checked([], [])
        read: list[tuple[object, SignedLabel]] = []
        for one in ours:
            try:
                read.append((one, read_label(one, self.did, now)))
            except BadLabel as fault:
                checked.refused.append(self._letter(one, str(fault), seq, now))
        forged = await self._verify(read, checked) if read else []
        if forged:
            self._resolver.doubt(self.did)
            forged = await self._verify(forged, checked)
        checked.refused.extend(
            self._letter(one, "the labeler's signature does not verify", seq, now) for one, _ in forged
        )
        self._count("verified", len(checked.labels))
        self._count("refused", len(checked.refused))
        return checked

    async def _verify(
        self, read: Iterable[tuple[object, SignedLabel]], checked: Checked
    ) -> list[tuple[object, SignedLabel]]:
        """Keep the labels with a valid signature; returns the others."""
        key, others = (await self.find_endpoint()).key, []
        for number, (one, signed) in enumerate(read, 1):
            if signed.is_signed_by(key):
                checked.labels.append(signed.label)
            else:
                others.append((one, signed))
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)
        return others

    def _letter(self, given: object, reason: str, seq: int | None, now: datetime) -> DeadLetter:
        return DeadLetter(now, self.did, seq, None, reason, _encoded(given)[:MOST_BYTES_KEPT])

    def _count(self, outcome: str, number: int) -> None:
        LABELS.labels(self.did, outcome).inc(number)


def _encoded(given: Any) -> bytes:
    try:
        encoded: bytes = libipld.encode_dag_cbor(given)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return repr(given).encode(errors="replace")
    return encoded
