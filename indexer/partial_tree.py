"""The part of a repo's tree that a commit shows, where its operations can be looked up and undone. Pure.

It is kept flat: every key that is shown, in order, and between two neighbours at most one subtree that is not
shown. Undoing changes that row; then the tree is built anew from it, which only one tree can come out of.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from indexer import car, mst
from indexer.mst import MissingNode, Node, Place

TOP: Final = 128  # above every layer: a hash has no more zeros


class Hidden(NamedTuple):
    """A subtree of which only the CID is known, and the layer of its root."""

    cid: bytes
    layer: int


class PartialTree:
    """Opened as far as these keys, and what stands next to them, can be reached through the blocks.

    Whatever is asked about a part that is not shown raises MissingNode; a wrong tree raises MstError.
    """

    def __init__(self, root: bytes, blocks: Mapping[bytes, bytes], keys: Iterable[bytes]) -> None:
        self._keys: list[bytes] = []
        self._values: list[bytes] = []
        self._layers: list[int] = []
        self._gaps: list[Hidden | None] = []  # left of each key, and after the last
        self._blocks = blocks
        self._wanted = sorted(keys)
        self._open(root, None)

    def value(self, key: bytes) -> bytes | None:
        """The CID of the record; None when the tree has no such key."""
        at = bisect_left(self._keys, key)
        if at < len(self._keys) and self._keys[at] == key:
            return self._values[at]
        hidden = self._gaps[at]
        if hidden is not None and hidden.layer >= mst.layer_of(key):
            raise MissingNode(hidden.cid)
        return None

    def put(self, key: bytes, value: bytes) -> None:
        """Add a key, or change its record."""
        at = bisect_left(self._keys, key)
        if at < len(self._keys) and self._keys[at] == key:
            self._values[at] = value
            return
        self._must_show(at)
        self._keys.insert(at, key)
        self._values.insert(at, value)
        self._layers.insert(at, mst.layer_of(key))
        self._gaps.insert(at, None)

    def remove(self, key: bytes) -> None:
        """Take away a key that is there."""
        at = self._keys.index(key)
        if self._gaps[at] is not None:
            self._must_show(at + 1)
            self._gaps[at + 1] = self._gaps[at]
        for column in (self._keys, self._values, self._layers, self._gaps):
            del column[at]

    def root(self) -> bytes:
        """The CID of the tree as it stands."""
        if self._keys:
            return self._node(0, len(self._keys), max(self._layers))
        hidden = self._gaps[0]
        if hidden is None:
            return mst.EMPTY
        if hidden.layer < TOP:  # it may have no keys of its own, and the root has to
            raise MissingNode(hidden.cid)
        return hidden.cid

    def _open(self, cid: bytes, place: Place | None) -> None:
        """Append what stands in a subtree, up to and with the gap at its end."""
        block = self._blocks.get(cid)
        if block is None:
            self._gaps.append(Hidden(cid, TOP if place is None else place.layer))
            return
        node, place = mst.opened(block, place)
        wanted = self._wanted_in(node, place)
        for at, subtree in enumerate(node.subtrees):
            if subtree is None:
                self._gaps.append(None)
            elif at in wanted:
                self._open(subtree, mst.below(node, place, at))
            else:
                self._gaps.append(Hidden(subtree, place.layer - 1))
            if at < len(node.keys):
                self._keys.append(node.keys[at])
                self._values.append(node.values[at])
                self._layers.append(place.layer)

    def _wanted_in(self, node: Node, place: Place) -> set[int]:
        """The subtrees where a wanted key belongs, or at whose border it stands: without it, two are one."""
        found = set[int]()
        first, end = bisect_left(self._wanted, place.low), bisect_right(self._wanted, place.high)
        for key in self._wanted[first:end]:
            at = bisect_left(node.keys, key)
            found.add(at)
            if at < len(node.keys) and node.keys[at] == key:
                found.add(at + 1)
        return found

    def _must_show(self, gap: int) -> None:
        if hidden := self._gaps[gap]:
            raise MissingNode(hidden.cid)

    def _subtree(self, start: int, end: int, layer: int) -> bytes | None:
        """The CID of what stands from `start` to `end`, under a node of the layer above."""
        if start < end:
            return self._node(start, end, layer)
        hidden = self._gaps[start]
        if hidden is None:
            return None
        if hidden.layer > layer:
            raise MissingNode(hidden.cid)
        return hidden.cid if hidden.layer == layer else self._node(start, end, layer)

    def _node(self, start: int, end: int, layer: int) -> bytes:
        here = [at for at in range(start, end) if self._layers[at] == layer]
        starts, ends = [start, *(at + 1 for at in here)], [*here, end]
        subtrees = [self._subtree(*part, layer - 1) for part in zip(starts, ends, strict=True)]
        keys, values = [self._keys[at] for at in here], [self._values[at] for at in here]
        return car.cid_of(mst.write(Node(keys, values, subtrees)))
