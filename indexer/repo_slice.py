"""The part of a repo that is ours: which nodes and records it takes, and their proof. Pure.

Whatever way the blocks come, nothing is taken over before the signature holds and the tree shows that no
record of these collections is left out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import libipld

from indexer import mst, verify
from indexer.batch import Fetched
from indexer.commits import MAX_RECORD_BYTES
from indexer.envelope import MAX_AHEAD
from indexer.keys import Key
from indexer.mst import Absent, FetchBlock, MstError
from indexer.verify import Head, Refused
from schemas.ids import Cid, Did, Nsid, Rkey, is_rkey, tid_time

MAX_RECORDS: Final = 200_000
MAX_BYTES: Final = 128 << 20

Paths = Mapping[tuple[Nsid, Rkey], bytes]


class TooMuch(ValueError):
    """More is ours in this repo than we take of anybody."""


@dataclass(frozen=True, slots=True)
class RepoSlice:
    """All records of these collections in one account's repo, as of `now` at the latest."""

    did: Did
    key: Key
    collections: frozenset[Nsid]
    now: datetime

    def head(self, roots: tuple[bytes, ...], fetch_block: FetchBlock) -> Head:
        """The signed commit that a CAR is of. Raises Refused."""
        block = fetch_block(roots[0]) if roots else None
        if block is None:
            raise Refused("commit object", "the CAR has no commit")
        head = verify.head({roots[0]: block}, roots[0], self.did, self.key)
        # Such a rev would win against every honest version for ever.
        if tid_time(head.rev) - self.now > MAX_AHEAD:
            raise Refused("commit object", "rev lies in the future")
        return head

    def is_most(self, root: bytes) -> bool:
        """Do the tree's topmost keys, as good as drawn by lot, say that most of the repo is ours?"""
        keys = mst.read(root).keys
        return all(key.partition(b"/")[0].decode() in self.collections for key in keys)

    def paths(self, head: Head, fetch_block: FetchBlock) -> Paths:
        """Every record's CID. Raises MstError, also when a node is not there, or TooMuch."""
        found: dict[tuple[Nsid, Rkey], bytes] = {}
        for start, end in self.ranges():
            _collect(mst.walk(head.data, fetch_block, start, end), found)
        return found

    def fetched(self, head: Head, paths: Paths, fetch_block: FetchBlock) -> Fetched:
        """The records themselves. Raises Refused or TooMuch."""
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
        """From before to after each collection's paths: other environments share the prefix of the names."""
        return [(f"{name}/".encode(), f"{name}0".encode()) for name in sorted(self.collections)]


class Trail:
    """The same paths, while the nodes that lead to them are brought: each is read once, when it is there."""

    def __init__(self, wanted: RepoSlice, head: Head) -> None:
        self.paths: dict[tuple[Nsid, Rkey], bytes] = {}
        self._ahead = {span: [Absent(head.data, None)] for span in wanted.ranges()}

    def follow(self, fetch_block: FetchBlock) -> list[bytes]:
        """Go on to where nodes are not there; none: to the end. Returns them. Raises MstError or TooMuch."""
        for (start, end), ahead in self._ahead.items():
            missing: list[Absent] = []
            for beginning in ahead:
                _collect(mst.walk(beginning, fetch_block, start, end, missing), self.paths)
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
