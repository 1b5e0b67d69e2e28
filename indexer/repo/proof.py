"""Verifies one record from getRecord's CAR: the signed commit, the path in the tree, and the record. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, get_args

import libipld

from indexer.repo import car, mst, verify
from indexer.repo.limits import MAX_AHEAD
from indexer.repo.signing_keys import Key
from schemas.ids import AtUri, Cid, Tid, tid_time

MAX_BYTES = 2_000_000

Check = Literal["blocks", "commit", "signature", "path", "record"]
CHECKS: Final[tuple[Check, ...]] = get_args(Check)  # in the order in which they are made


class ProofError(ValueError):
    """The server's proof fails at `check`; the checks before it passed. The message says why."""

    def __init__(self, check: Check, reason: str) -> None:
        super().__init__(reason)
        self.check = check


@dataclass(frozen=True, slots=True)
class Proof:
    """A record in the repo's signed commit `rev`, which has the tree `data`.

    `cid` and `block` are None when the repo does not hold the record.
    """

    rev: Tid
    cid: Cid | None
    block: bytes | None
    data: bytes


def verify_proof(proof: bytes, uri: AtUri, now: datetime, key: Key) -> Proof:
    """Check the hashes, the commit's signature and the path from root to record. Raises ProofError."""
    try:
        opened = car.read_car(proof, MAX_BYTES)
        if len(opened.roots) != 1:
            raise ProofError("blocks", "the proof is not of one commit")
        head = verify.verify_head(opened.blocks, opened.roots[0], uri.did, key)
        if tid_time(head.rev) - now > MAX_AHEAD:
            raise ProofError("signature", "rev lies in the future")
        cid = mst.find_cid(head.data, opened.blocks, f"{uri.collection}/{uri.rkey}")
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
