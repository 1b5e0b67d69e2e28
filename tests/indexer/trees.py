"""Random repo trees, grown by an independent implementation, and the blocks that prove something in them."""

import bisect
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import libipld
from atmst.blockstore import MemoryBlockStore
from atmst.mst.node import MSTNode
from atmst.mst.node_store import NodeStore
from atmst.mst.node_walker import NodeWalker
from atmst.mst.node_wrangler import NodeWrangler
from atmst.mst.proof import find_rpath_and_build_proof
from cbrrr import CID

from indexer.events import Action, Operation
from indexer.repo import car

PER_LAYER = 24


def _paths() -> list[str]:
    """As many of each of the lowest layers, so that few keys make a tree of many."""
    found: dict[int, list[str]] = {layer: [] for layer in range(5)}
    for number in range(40_000):
        path = f"fm.svc.{('like', 'track', 'list')[number % 3]}/{number * 7919:07}"
        layer = found.get(MSTNode.key_height(path), [])
        if len(layer) < PER_LAYER:
            layer.append(path)
    return sorted(path for layer in found.values() for path in layer)


PATHS = _paths()


def record_cid(value: object) -> bytes:
    """The CID that a record with this content has."""
    return car.cid_of(libipld.encode_dag_cbor({"value": value}))


@dataclass(frozen=True)
class Step:
    """A batch of operations on a tree."""

    before: bytes
    after: bytes
    operations: tuple[Operation, ...]


class RandomTree:
    """A tree that changes by random batches. `records` is what must be in it."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.blocks: dict[bytes, bytes] = {}
        self.records: dict[str, bytes] = {}
        self._store = NodeStore(MemoryBlockStore(self.blocks))
        self._tree = NodeWrangler(self._store)
        self._root: CID = self._store.get_node(None).cid
        self._fullness = self.chance.choice([0, 2, 10, 40, 100])  # how many keys it tends to
        self._written = 0

    @property
    def root(self) -> bytes:
        return bytes(self._root)

    def step(self) -> Step:
        """Apply one batch of up to eight operations, mostly few."""
        before = self.root
        count = min(self.chance.choice([1, 1, 1, 2, 2, 3, 5, 8]), len(PATHS))
        operations = tuple(self._operation(path) for path in self.chance.sample(PATHS, count))
        return Step(before, self.root, tuple(filter(None, operations)))

    def plant(self, records: Mapping[str, bytes]) -> None:
        """Add these records."""
        for path, cid in records.items():
            self.records[path] = cid
            self._root = self._tree.put_record(self._root, path, CID(cid))

    def uproot(self, path: str) -> bytes:
        """Take away a record; returns its CID."""
        self._root = self._tree.del_record(self._root, path)
        return self.records.pop(path)

    def proof(self, paths: Iterable[str]) -> dict[bytes, bytes]:
        """The nodes on the way to each of these paths, and to the keys next to it."""
        keys = sorted(self.records)
        wanted = set(paths)
        for path in list(wanted):
            left, right = bisect.bisect_left(keys, path), bisect.bisect_right(keys, path)
            wanted.update(keys[max(left - 1, 0) : left] + keys[right : right + 1])
        return self.way(wanted)

    def way(self, wanted: Iterable[str]) -> dict[bytes, bytes]:
        """The nodes on the way to each of these paths."""
        cids = {self._root}
        for path in wanted:
            cids |= find_rpath_and_build_proof(self._store, self._root, path)[1]
        return {bytes(cid): self.blocks[bytes(cid)] for cid in cids}

    def whole(self) -> dict[bytes, bytes]:
        """Every node of the tree."""
        walker = NodeWalker(self._store, self._root)
        return {bytes(node.cid): node.serialised for node in walker.iter_nodes()}

    def _operation(self, path: str) -> Operation | None:
        prev = self.records.pop(path, None)
        is_to_stay = self.chance.random() < (0.3 if len(self.records) > self._fullness else 0.7)
        if not is_to_stay:
            self._root = self._tree.del_record(self._root, path)
            return Operation("delete", path, None, prev) if prev else None
        self._written += 1
        cid = self.records[path] = record_cid(self._written)
        self._root = self._tree.put_record(self._root, path, CID(cid))
        action: Action = "update" if prev else "create"
        return Operation(action, path, cid, prev)
