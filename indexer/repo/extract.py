"""Extracts the records of our collections from a repo: which nodes and records are needed, and proof. Pure.

However the blocks were fetched, no record is used before the commit's signature holds and the tree proves
that no record of these collections is missing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import libipld

from indexer.repo import mst, verify
from indexer.repo.limits import MAX_AHEAD, MAX_RECORD_BYTES
from indexer.repo.mst import Absent, FetchBlock, MstError
from indexer.repo.signing_keys import Key
from indexer.repo.verify import Refused, VerifiedHead
from schemas.ids import Cid, Did, Nsid, Rkey, Tid, is_rkey, tid_time


@dataclass(frozen=True, slots=True)
class Fetched:
    """All records of our collections in one repo as of its commit `rev`: verified and complete.

    `records`: CID as text and block, by collection and rkey.
    """

    did: Did
    rev: Tid
    data: bytes
    records: Mapping[tuple[Nsid, Rkey], tuple[Cid, bytes]]


MAX_RECORDS: Final = 200_000
MAX_BYTES: Final = 128 << 20

Paths = Mapping[tuple[Nsid, Rkey], bytes]


class TooMuch(ValueError):
    """The repo holds more records or bytes of our collections than we accept from one account."""


@dataclass(frozen=True, slots=True)
class RepoSlice:
    """All records of these collections in one account's repo, as of `now` at the latest."""

    did: Did
    key: Key
    collections: frozenset[Nsid]
    now: datetime

    def head(self, roots: tuple[bytes, ...], fetch_block: FetchBlock) -> VerifiedHead:
        """Verify the signed commit at the CAR's root. Raises Refused."""
        block = fetch_block(roots[0]) if roots else None
        if block is None:
            raise Refused("commit object", "the CAR has no commit")
        head = verify.verify_head({roots[0]: block}, roots[0], self.did, self.key)
        # Such a rev would win against every honest version for ever.
        if tid_time(head.rev) - self.now > MAX_AHEAD:
            raise Refused("commit object", "rev lies in the future")
        return head

    def is_most(self, root: bytes) -> bool:
        """True when all keys of the tree's root node, a random sample of the repo, are of our collections."""
        keys = mst.read_node(root).keys
        return all(key.partition(b"/")[0].decode() in self.collections for key in keys)

    def paths(self, head: VerifiedHead, fetch_block: FetchBlock) -> Paths:
        """The CID of every record. Raises MstError, also for a missing node, or TooMuch."""
        found: dict[tuple[Nsid, Rkey], bytes] = {}
        for start, end in self.ranges():
            _collect(mst.walk_keys(head.data, fetch_block, start, end), found)
        return found

    def fetched(self, head: VerifiedHead, paths: Paths, fetch_block: FetchBlock) -> Fetched:
        """Collect the records at these paths. Raises Refused or TooMuch."""
        records: dict[tuple[Nsid, Rkey], tuple[Cid, bytes]] = {}
        total = 0
        for path, cid in paths.items():
            block = _record(fetch_block(cid))
            records[path] = Cid(libipld.encode_multibase("b", cid)), block
            total += len(block)
            if total > MAX_BYTES:
                raise TooMuch(f"the repo has more than {MAX_BYTES} bytes of ours")
        return Fetched(self.did, head.rev, head.data, records)

    def ranges(self) -> list[tuple[bytes, bytes]]:
        """The key range of each collection: one range for all would include other environments' names."""
        return [(f"{name}/".encode(), f"{name}0".encode()) for name in sorted(self.collections)]


class Trail:
    """Finds the records' paths while the tree's nodes are still being fetched: each node is read once."""

    def __init__(self, wanted: RepoSlice, head: VerifiedHead) -> None:
        self.paths: dict[tuple[Nsid, Rkey], bytes] = {}
        self._ahead = {span: [Absent(head.data, None)] for span in wanted.ranges()}

    def follow(self, fetch_block: FetchBlock) -> list[bytes]:
        """Walk on as far as nodes are present. Returns the CIDs to fetch next, none at the end of the walk.

        Raises MstError or TooMuch.
        """
        for (start, end), ahead in self._ahead.items():
            missing: list[Absent] = []
            for beginning in ahead:
                _collect(mst.walk_keys(beginning, fetch_block, start, end, missing), self.paths)
            self._ahead[start, end] = missing
        return [absent.cid for ahead in self._ahead.values() for absent in ahead]


def _collect(walked: Iterable[tuple[bytes, bytes]], found: dict[tuple[Nsid, Rkey], bytes]) -> None:
    for path, cid in walked:
        collection, _, rkey = path.decode().partition("/")
        if not is_rkey(rkey):
            raise MstError("a record key of the tree is malformed")
        found[Nsid(collection), Rkey(rkey)] = cid
        if len(found) > MAX_RECORDS:
            raise TooMuch(f"the repo has more than {MAX_RECORDS} records of ours")


def _record(block: bytes | None) -> bytes:
    if block is None:
        raise Refused("tree", "a record of the tree is missing")
    if len(block) > MAX_RECORD_BYTES:
        raise Refused("tree", "a record is too large")
    return block
