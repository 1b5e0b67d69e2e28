"""One record as its server proves it: getRecord's CAR of commit, path in the tree and record."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import libipld

from indexer import car, mst
from indexer.envelope import MAX_AHEAD
from indexer.outbound import Outbound
from schemas.ids import AtUri, Cid, Tid, is_tid, tid_time

MAX_BYTES = 2_000_000
TIMEOUT_SECONDS = 8.0


class ProofError(ValueError):
    """What the server sent proves nothing; the message says why in a few words."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The record in the repo's commit `rev`. No `cid` and no `block`: the repo does not hold it."""

    rev: Tid
    cid: Cid | None
    block: bytes | None


async def fetch(outbound: Outbound, pds: str, uri: AtUri, now: datetime) -> Proof:
    """Ask the record's server. Raises OutboundError or ProofError."""
    query = urlencode({"did": uri.did, "collection": uri.collection, "rkey": uri.rkey})
    url = f"{pds}/xrpc/com.atproto.sync.getRecord?{query}"
    return read(await outbound.fetch(url, MAX_BYTES, TIMEOUT_SECONDS), uri, now)


def read(proof: bytes, uri: AtUri, now: datetime) -> Proof:
    """Check hashes, whose commit it is, and the way from its root to the record. Raises ProofError."""
    try:
        opened = car.read(proof, MAX_BYTES)
        commit = _commit(opened)
        rev = _rev(commit, uri, now)
        if not car.is_cid(commit.get("data")):
            raise ProofError("the commit has no tree")
        cid = mst.find(commit["data"], opened.blocks, f"{uri.collection}/{uri.rkey}")
    except (car.CarError, mst.MstError) as error:
        raise ProofError(str(error)) from error
    if cid is None:
        return Proof(rev, None, None)
    block = opened.blocks.get(cid)
    if block is None:
        raise ProofError("the record is not in the proof")
    return Proof(rev, Cid(libipld.encode_multibase("b", cid)), block)


def _commit(opened: car.Car) -> dict[str, Any]:
    block = opened.blocks.get(opened.roots[0]) if opened.roots else None
    if block is None:
        raise ProofError("the commit is not in the proof")
    try:
        commit = libipld.decode_dag_cbor(block)
    except (ValueError, RecursionError) as error:
        raise ProofError("the commit is not DAG-CBOR") from error
    if not isinstance(commit, dict) or commit.get("version") != 3:
        raise ProofError("the commit is not version 3")
    return commit


def _rev(commit: dict[str, Any], uri: AtUri, now: datetime) -> Tid:
    rev = commit.get("rev")
    if commit.get("did") != uri.did:
        raise ProofError("the commit is another account's")
    if not isinstance(rev, str) or not is_tid(rev):
        raise ProofError("the commit's rev is not a TID")
    if tid_time(rev) - now > MAX_AHEAD:
        raise ProofError("rev lies in the future")
    return Tid(rev)
