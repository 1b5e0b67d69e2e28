"""Fetches a record's proof from its PDS, and verifies it with the account's signing key."""

from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlencode

from indexer.events import IdentityFact
from indexer.network.http.client import Answered, Outbound, OutboundError
from indexer.network.http.throttle import HostTurns
from indexer.network.identity.resolver import Resolver
from indexer.repo import proof, signing_keys
from indexer.repo.proof import MAX_BYTES, Proof, ProofError
from indexer.repo.signing_keys import KeyFault
from schemas.ids import AtUri

TIMEOUT_SECONDS = 8.0


class NotProven(Exception):
    """The record could not be proven; the message is a sentence. `missing`: there is no such record."""

    def __init__(self, sentence: str, *, missing: bool = False) -> None:
        super().__init__(sentence)
        self.missing = missing


@dataclass(frozen=True, slots=True)
class Proven:
    """A verified proof, and the CAR that it was read from, for clients to verify again."""

    proof: Proof
    car: bytes


class Prover:
    """Fetches and verifies one proof at a time from each PDS, within the throttle. Stores nothing."""

    def __init__(self, resolver: Resolver, outbound: Outbound, hosts: HostTurns) -> None:
        self._resolver = resolver
        self._outbound = outbound
        self._hosts = hosts

    async def prove(self, uri: AtUri) -> Proven:
        """Prove the record as it is now, or that it does not exist. Raises NotProven."""
        try:
            facts = await self._resolver.resolve(uri.did)
            if facts.pds is None:
                raise NotProven(f"{uri.did} has no personal data server.", missing=True)
            async with self._hosts.turn(facts.pds, urgent=True):
                car = await fetch_proof(self._outbound, facts.pds, uri)
            return Proven(await self._read(car, uri, facts), car)
        except Answered as error:
            missing = error.status in (400, 404)
            raise NotProven(
                f"The account's server does not give the record: {error}.", missing=missing
            ) from error
        except OutboundError as error:
            raise NotProven(f"The account's server cannot be asked: {error}.") from error
        except KeyFault as error:
            raise NotProven(f"{uri.did} has no usable signing key: {error}.") from error
        except ProofError as error:
            raise NotProven(f"The account's server sent a proof that does not hold: {error}.") from error

    async def _read(self, car: bytes, uri: AtUri, facts: IdentityFact) -> Proof:
        try:
            return _read(car, uri, facts)
        except (ProofError, KeyFault):
            self._resolver.doubt(uri.did)
            current = await self._resolver.resolve(uri.did)
            if current.signing_key == facts.signing_key:
                raise
        return _read(car, uri, current)


def _read(car: bytes, uri: AtUri, facts: IdentityFact) -> Proof:
    return proof.verify_proof(car, uri, datetime.now(UTC), signing_keys.parse_key(facts.signing_key or ""))


def proof_url(pds: str, uri: AtUri) -> str:
    """The URL of the record's proof at a PDS."""
    query = urlencode({"did": uri.did, "collection": uri.collection, "rkey": uri.rkey})
    return f"{pds}/xrpc/com.atproto.sync.getRecord?{query}"


async def fetch_proof(outbound: Outbound, pds: str, uri: AtUri) -> bytes:
    """Fetch the proof from the record's PDS, not verified yet. Raises OutboundError."""
    return await outbound.fetch(proof_url(pds, uri), MAX_BYTES, TIMEOUT_SECONDS)
