"""Checks one record from its address to its lexicon, and reports each check, without using our own stores."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from indexer.catalog import projections
from indexer.control import prove
from indexer.events import IdentityFact
from indexer.network import connect
from indexer.network.connect import Internet
from indexer.network.http.client import Outbound, OutboundError
from indexer.network.identity.handles import Handles
from indexer.network.identity.resolver import Resolver
from indexer.repo import dag_cbor, proof, signing_keys
from indexer.repo.dag_cbor import CborError
from indexer.repo.proof import CHECKS, Proof, ProofError
from indexer.repo.signing_keys import Key, KeyFault
from schemas import records
from schemas.collections import Collections
from schemas.ids import INVALID_HANDLE, AtUri, Handle, is_handle, tid_time
from schemas.settings import Settings

Name = Literal["address", "identity", "handle", "key", "server"] | proof.Check | Literal["lexicon"]
NAMES: Final[tuple[Name, ...]] = ("address", "identity", "handle", "key", "server", *CHECKS, "lexicon")


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check: `sentence` says what holds, or why it does not."""

    name: Name
    holds: bool
    sentence: str


class _Stop(Exception):
    """A check failed that all later ones depend on."""

    def __init__(self, name: Name, reason: str) -> None:
        super().__init__(reason)
        self.check = Check(name, False, reason)


async def inspect_record(settings: Settings, address: str) -> AsyncIterator[Check]:
    """Run every check in order; ends early after a failed one that the rest depend on."""
    async with connect.open_internet(settings) as ways:
        try:
            async for check in _checks(address, settings.collections, ways):
                yield check
        except _Stop as stop:
            yield stop.check


async def _checks(address: str, collections: Collections, ways: Internet) -> AsyncIterator[Check]:
    uri = await _name(address, ways.handles)
    yield Check("address", True, str(uri))
    facts = await _identity(uri, ways.resolver)
    yield Check("identity", True, f"{uri.did} lives at {facts.pds}")
    yield _handle(facts)
    key = _key(facts)
    yield Check("key", True, f"{key.multibase}, on {key.curve}")
    sent = await _ask(uri, facts.pds or "", ways.outbound)
    yield Check("server", True, f"sent {len(sent):,} bytes: {prove.proof_url(facts.pds or '', uri)}")
    try:
        found = proof.verify_proof(sent, uri, datetime.now(UTC), key)
    except ProofError as error:
        for name in CHECKS[: CHECKS.index(error.check)]:
            yield Check(name, True, "holds")
        raise _Stop(error.check, str(error)) from error
    for check in _proven(uri, found):
        yield check
    yield _lexicon(uri, found, collections)


async def _name(address: str, handles: Handles) -> AtUri:
    """The at-uri of the address, which may have a handle in place of the DID."""
    account, _, rest = address.removeprefix("at://").partition("/")
    try:
        did = await handles.find(Handle(account.lower())) if is_handle(account) else account
        if did is None:
            raise ValueError(f"no account has the handle {account}")
        return AtUri.parse(f"at://{did}/{rest}")
    except (OutboundError, ValueError) as error:
        raise _Stop("address", f"{address}: {error}") from error


async def _identity(uri: AtUri, resolver: Resolver) -> IdentityFact:
    try:
        facts = await resolver.resolve(uri.did)
    except OutboundError as error:
        raise _Stop("identity", f"{uri.did} cannot be resolved: {error}") from error
    if facts.pds is None:
        raise _Stop("identity", f"{uri.did} does not exist, or names no server that may be asked")
    return facts


def _handle(facts: IdentityFact) -> Check:
    match facts.handle:
        case None:
            return Check("handle", False, "the handle could not be resolved")
        case handle if handle == INVALID_HANDLE:
            return Check("handle", False, "the DID document claims none that leads back to the account")
        case handle:
            return Check("handle", True, f"{handle}, claimed by the account and leading back to it")


def _key(facts: IdentityFact) -> Key:
    try:
        return signing_keys.parse_key(facts.signing_key or "")
    except KeyFault as error:
        raise _Stop("key", f"the DID document has none that can be used: {error}") from error


async def _ask(uri: AtUri, pds: str, outbound: Outbound) -> bytes:
    try:
        return await prove.fetch_proof(outbound, pds, uri)
    except OutboundError as error:
        raise _Stop("server", f"{pds} does not give the proof: {error}") from error


def _proven(uri: AtUri, found: Proof) -> Iterator[Check]:
    yield Check("blocks", True, "every one has the hash that its CID says")
    yield Check("commit", True, f"rev {found.rev}, of {tid_time(found.rev):%Y-%m-%d %H:%M:%S} UTC")
    yield Check("signature", True, "of the commit object by that key, in the one form that is allowed")
    if found.cid is None:
        raise _Stop("path", f"the signed tree has no {uri.collection}/{uri.rkey}")
    yield Check("path", True, f"{uri.collection}/{uri.rkey} is in the signed tree")
    try:
        dag_cbor.decode_block(found.block or b"")
    except CborError as error:
        raise _Stop("record", f"the record {error}") from error
    yield Check("record", True, f"{found.cid}, in canonical form")


def _lexicon(uri: AtUri, found: Proof, collections: Collections) -> Check:
    projection = projections.projections_of(collections).get(uri.collection)
    if projection is None:
        return Check("lexicon", False, f"{uri.collection} is none of this service's collections")
    read = records.parse_record_as(
        projection.model, uri.collection, collections, found.block or b"", uri.rkey
    )
    if isinstance(read, records.Invalid):
        return Check("lexicon", False, "; ".join(read.reasons))
    return Check("lexicon", True, f"a {uri.collection} as published")
