"""Asks a record's own server for its proof, and holds that to the key that the account has."""

from dataclasses import dataclass
from datetime import UTC, datetime

from indexer import keys, proof
from indexer.batch import IdentityFact
from indexer.hosts import Hosts
from indexer.identity import Resolver
from indexer.keys import KeyFault
from indexer.outbound import Answered, Outbound, OutboundError
from indexer.proof import Proof, ProofError
from schemas.ids import AtUri


class NotProven(Exception):
    """Nothing was proven; the message is a sentence. `missing`: there is no such record."""

    def __init__(self, sentence: str, *, missing: bool = False) -> None:
        super().__init__(sentence)
        self.missing = missing


@dataclass(frozen=True, slots=True)
class Proven:
    """A proof that holds, and the CAR that it was read from: anybody can check it again."""

    proof: Proof
    car: bytes


class Prover:
    """One question to a server, at its turn. Nothing is stored."""

    def __init__(self, resolver: Resolver, outbound: Outbound, hosts: Hosts) -> None:
        self._resolver = resolver
        self._outbound = outbound
        self._hosts = hosts

    async def prove(self, uri: AtUri) -> Proven:
        """The record as it is now, or that it is not there. Raises NotProven."""
        try:
            facts = await self._resolver.resolve(uri.did)
            if facts.pds is None:
                raise NotProven(f"{uri.did} has no personal data server.", missing=True)
            async with self._hosts.turn(facts.pds, urgent=True):
                car = await proof.ask(self._outbound, facts.pds, uri)
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
    return proof.read(car, uri, datetime.now(UTC), keys.parse(facts.signing_key or ""))
