"""One record as its server proves it: getRecord's CAR of signed commit, path in the tree and record."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, get_args
from urllib.parse import urlencode

import libipld

from indexer import car, mst, verify
from indexer.envelope import MAX_AHEAD
from indexer.keys import Key
from indexer.outbound import Outbound
from schemas.ids import AtUri, Cid, Tid, tid_time

MAX_BYTES = 2_000_000
TIMEOUT_SECONDS = 8.0

Check = Literal["blocks", "commit", "signature", "path", "record"]
CHECKS: Final[tuple[Check, ...]] = get_args(Check)  # in the order in which they are made


class ProofError(ValueError):
    """What the server sent proves nothing. `check` failed, those before it hold; the message says why."""

    def __init__(self, check: Check, reason: str) -> None:
        super().__init__(reason)
        self.check = check


@dataclass(frozen=True, slots=True)
class Proof:
    """The record in the repo's signed commit `rev`, whose tree is `data`.

    No `cid` and no `block`: the repo does not hold it.
    """

    rev: Tid
    cid: Cid | None
    block: bytes | None
    data: bytes


def address(pds: str, uri: AtUri) -> str:
    """Where a server gives the proof."""
    query = urlencode({"did": uri.did, "collection": uri.collection, "rkey": uri.rkey})
    return f"{pds}/xrpc/com.atproto.sync.getRecord?{query}"


async def ask(outbound: Outbound, pds: str, uri: AtUri) -> bytes:
    """The proof as the record's server sends it, not looked at yet. Raises OutboundError."""
    return await outbound.fetch(address(pds, uri), MAX_BYTES, TIMEOUT_SECONDS)


def read(proof: bytes, uri: AtUri, now: datetime, key: Key) -> Proof:
    """Check hashes, who signed the commit, and the way from its root to the record. Raises ProofError."""
    try:
        opened = car.read(proof, MAX_BYTES)
        if len(opened.roots) != 1:
            raise ProofError("blocks", "the proof is not of one commit")
        head = verify.head(opened.blocks, opened.roots[0], uri.did, key)
        if tid_time(head.rev) - now > MAX_AHEAD:
            raise ProofError("signature", "rev lies in the future")
        cid = mst.find(head.data, opened.blocks, f"{uri.collection}/{uri.rkey}")
        if cid is None:
            return Proof(head.rev, None, None, head.data)
        block = opened.blocks.get(cid)
        if block is None:
            raise ProofError("record", "the record is not in the proof")
    except car.CarError as error:
        raise ProofError("blocks", str(error)) from error
    except verify.Refused as error:
        raise ProofError("signature" if error.check == "signature" else "commit", str(error)) from error
    except mst.MstError as error:
        raise ProofError("path", str(error)) from error
    return Proof(head.rev, Cid(libipld.encode_multibase("b", cid)), block, head.data)
