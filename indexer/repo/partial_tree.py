"""The part of a repo's tree that a commit's blocks include: look up its operations and undo them. Pure.

The part is kept flat: every visible key in order, and between two neighbours at most one hidden subtree, of
which only the CID is known. Undoing changes that list, and the tree's root is then computed from it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from indexer.repo import car, mst
from indexer.repo.mst import MissingNode, Node, NodePosition

TOP: Final = 128  # above every layer: a hash has no more zeros


class Hidden(NamedTuple):
    """A subtree whose blocks are missing: its CID, and the layer of its root."""

    cid: bytes
    layer: int


class PartialTree:
    """A tree opened along the paths to `keys` and their neighbours, as far as the blocks reach.

    A question about a hidden subtree raises MissingNode; a malformed tree raises MstError.
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
        """The CID of the key's record; None when the tree has no such key."""
        at = bisect_left(self._keys, key)
        if at < len(self._keys) and self._keys[at] == key:
            return self._values[at]
        hidden = self._gaps[at]
        if hidden is not None and hidden.layer >= mst.layer_of(key):
            raise MissingNode(hidden.cid)
        return None

    def put(self, key: bytes, value: bytes) -> None:
        """Add a key, or replace its record."""
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
        """Remove a key of the tree."""
        at = self._keys.index(key)
        if self._gaps[at] is not None:
            self._must_show(at + 1)
            self._gaps[at + 1] = self._gaps[at]
        for column in (self._keys, self._values, self._layers, self._gaps):
            del column[at]

    def root(self) -> bytes:
        """The CID of the tree with the changes so far."""
        if self._keys:
            return self._node(0, len(self._keys), max(self._layers))
        hidden = self._gaps[0]
        if hidden is None:
            return mst.EMPTY
        if hidden.layer < TOP:  # the hidden node may have no keys, and a root must have some
            raise MissingNode(hidden.cid)
        return hidden.cid

    def _open(self, cid: bytes, place: NodePosition | None) -> None:
        """Append the keys and gaps of a subtree, including the gap at its end."""
        block = self._blocks.get(cid)
        if block is None:
            self._gaps.append(Hidden(cid, TOP if place is None else place.layer))
            return
        node, place = mst.open_node(block, place)
        wanted = self._wanted_in(node, place)
        for at, subtree in enumerate(node.subtrees):
            if subtree is None:
                self._gaps.append(None)
            elif at in wanted:
                self._open(subtree, mst.place_below(node, place, at))
            else:
                self._gaps.append(Hidden(subtree, place.layer - 1))
            if at < len(node.keys):
                self._keys.append(node.keys[at])
                self._values.append(node.values[at])
                self._layers.append(place.layer)

    def _wanted_in(self, node: Node, place: NodePosition) -> set[int]:
        """Indexes of the subtrees to open: those a wanted key falls into or borders on.

        Removing a key merges the subtrees on either side of it, so both have to be open.
        """
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
        """The CID of the subtree of the keys from `start` to `end`, under a node of the layer above."""
        if start < end:
            return self._node(start, end, layer)
        hidden = self._gaps[start]
        if hidden is None:
            return None
        if hidden.layer > layer:
            raise MissingNode(hidden.cid)
        return hidden.cid if hidden.layer == layer else self._node(start, end, layer)

    def _node(self, start: int, end: int, layer: int) -> bytes:
        layers, below = self._layers, layer - 1
        keys: list[bytes] = []
        values: list[bytes] = []
        subtrees: list[bytes | None] = []
        for at in range(start, end):
            if layers[at] == layer:
                subtrees.append(self._subtree(start, at, below))
                keys.append(self._keys[at])
                values.append(self._values[at])
                start = at + 1
        subtrees.append(self._subtree(start, end, below))
        return car.cid_of(mst.write_node(Node(keys, values, subtrees)))
