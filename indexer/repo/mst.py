"""Merkle Search Trees (MST): reads, walks and writes nodes; refuses all but the canonical form. Pure.

Format: https://atproto.com/specs/repository#mst-structure. A node holds entries whose keys omit the prefix
that they share with the entry before, with links to the subtrees left of, between and right of them. A key's
layer in the tree follows from its hash, so the same records always make the same tree.
"""

import hashlib
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import libipld

from indexer.repo import car

MAX_KEY_BYTES: Final = 1024
FIRST: Final = b""  # before any key
LAST: Final = b"\xff"  # after any key
EMPTY: Final = car.cid_of(libipld.encode_dag_cbor({"e": [], "l": None}))  # the tree of no records

_PATH: Final = re.compile(rb"[a-zA-Z0-9_~:.-]+/[a-zA-Z0-9_~:.-]+")

FetchBlock = Callable[[bytes], bytes | None]


class MstError(ValueError):
    """The tree is malformed or not canonical; the message says why in a few words."""


class MissingNode(MstError):
    """The blocks do not include a node that is needed."""

    def __init__(self, cid: bytes) -> None:
        super().__init__("a node of the tree is missing")
        self.cid = cid


class Node(NamedTuple):
    """Complete keys in order, the CIDs of their records, and the subtrees around them: one more than keys."""

    keys: list[bytes]
    values: list[bytes]
    subtrees: list[bytes | None]


class NodePosition(NamedTuple):
    """A node's position in a tree: its layer, and the keys on either side."""

    layer: int
    low: bytes
    high: bytes


class Absent(NamedTuple):
    """A node whose block is missing, and its position; the root has no place."""

    cid: bytes
    place: NodePosition | None


def find_cid(root: bytes, blocks: Mapping[bytes, bytes], path: str) -> bytes | None:
    """Look up the CID of the record at `collection/rkey`; None proves that there is none.

    Raises MstError when a node on the path is missing or malformed, so that nothing is proved.
    """
    wanted = path.encode()
    layer = layer_of(wanted)
    subtree: bytes | None = root
    place: NodePosition | None = None
    while subtree is not None and (place is None or place.layer >= layer):
        if (block := blocks.get(subtree)) is None:
            raise MissingNode(subtree)
        node, place = open_node(block, place)
        at = bisect_left(node.keys, wanted)
        if at < len(node.keys) and node.keys[at] == wanted:
            return node.values[at]
        subtree, place = node.subtrees[at], place_below(node, place, at)
    return None


def walk_keys(
    root: bytes | Absent,
    fetch_block: FetchBlock,
    start: bytes = FIRST,
    end: bytes = LAST,
    missing: list[Absent] | None = None,
) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys from `start` up to but excluding `end`, in order, each with the CID of its record.

    Missing nodes are appended to `missing`, and their subtrees are skipped: once fetched, each is a `root` to
    walk on from. Without that list a missing node raises MissingNode. Raises MstError for a malformed tree.
    """
    beginning = root if isinstance(root, Absent) else Absent(root, None)
    return _walk(beginning, fetch_block, (start, end), _give_up if missing is None else missing.append)


def layer_of(key: bytes) -> int:
    """The key's layer: one for every two leading zero bits of its hash."""
    return (256 - int.from_bytes(hashlib.sha256(key).digest(), "big").bit_length()) // 2


def open_node(block: bytes, place: NodePosition | None) -> tuple[Node, NodePosition]:
    """Read a node and check it against its place; the root's place follows from its keys. Raises MstError."""
    node = read_node(block)
    keys = node.keys
    if place is None:
        place = NodePosition(layer_of(keys[0]) if keys else 0, FIRST, LAST)
        if not keys and node.subtrees[0] is not None:
            raise MstError("the root of the tree has no keys")
    elif not keys and node.subtrees[0] is None:
        raise MstError("a node of the tree is empty")
    if keys and not (place.low < keys[0] and keys[-1] < place.high):
        raise MstError("the keys of the tree are out of order")
    layer = place.layer
    for key in keys:
        if layer_of(key) != layer:
            raise MstError("a key stands in the wrong layer of the tree")
    if place.layer == 0 and any(node.subtrees):
        raise MstError("the tree goes deeper than its lowest layer")
    return node, place


def place_below(node: Node, place: NodePosition, at: int) -> NodePosition:
    """The place of the node's subtree at this index."""
    low = node.keys[at - 1] if at else place.low
    high = node.keys[at] if at < len(node.keys) else place.high
    return NodePosition(place.layer - 1, low, high)


def read_node(block: bytes) -> Node:
    """Read a block as a node; refuses every encoding but the canonical one. Raises MstError."""
    try:
        fields = libipld.decode_dag_cbor(block)
        # Also finds a link that was encoded as plain bytes: libipld encodes it as a link.
        if libipld.encode_dag_cbor(fields) != block:
            raise MstError("a node of the tree is not canonical DAG-CBOR")
        if len(fields) != 2:
            raise MstError("a node of the tree has wrong fields")
        return _node(fields["l"], fields["e"])
    except MstError:
        raise
    except (ValueError, RecursionError) as error:
        raise MstError("a node of the tree is not DAG-CBOR") from error
    except (LookupError, TypeError) as error:
        raise MstError("a node of the tree has wrong fields") from error


def write_node(node: Node) -> bytes:
    """Encode a node as a block."""
    entries = []
    before = FIRST
    for key, value, subtree in zip(node.keys, node.values, node.subtrees[1:], strict=True):
        shared = shared_bytes(before, key)
        entries.append({"k": key[shared:], "p": shared, "t": subtree, "v": value})
        before = key
    block: bytes = libipld.encode_dag_cbor({"e": entries, "l": node.subtrees[0]})
    return block


def shared_bytes(left: bytes, right: bytes) -> int:
    """The length of the prefix that both keys share."""
    length = min(len(left), len(right))
    differing = int.from_bytes(left[:length], "big") ^ int.from_bytes(right[:length], "big")
    return length - (differing.bit_length() + 7) // 8


def _node(leftmost: object, entries: list[dict[str, Any]]) -> Node:
    if type(entries) is not list:
        raise MstError("a node of the tree has wrong fields")
    keys: list[bytes] = []
    values: list[bytes] = []
    subtrees = [_subtree(leftmost)]
    before = FIRST
    for entry in entries:
        shared, rest, value = entry["p"], entry["k"], entry["v"]
        if len(entry) != 4 or type(shared) is not int or type(rest) is not bytes:
            raise MstError("an entry of the tree has wrong fields")
        if not 0 <= shared <= len(before) or before[shared : shared + 1] == rest[:1] != b"":
            raise MstError("a key of the tree is not shortened as it must be")
        key = before[:shared] + rest
        if key <= before:
            raise MstError("the keys of the tree are out of order")
        if len(key) > MAX_KEY_BYTES or not _PATH.fullmatch(key):
            raise MstError("a key of the tree is not a path")
        if not car.is_cid(value):
            raise MstError("an entry of the tree has no record")
        keys.append(key)
        values.append(value)
        subtrees.append(_subtree(entry["t"]))
        before = key
    return Node(keys, values, subtrees)


def _subtree(link: object) -> bytes | None:
    if link is None or car.is_cid(link):
        return link
    raise MstError("the link to a subtree is not a CID")


def _walk(
    beginning: Absent,
    fetch_block: FetchBlock,
    wanted: tuple[bytes, bytes],
    absent: Callable[[Absent], None],
) -> Iterator[tuple[bytes, bytes]]:
    block = fetch_block(beginning.cid)
    if block is None:
        absent(beginning)
        return
    start, end = wanted
    node, place = open_node(block, beginning.place)
    first, last = bisect_left(node.keys, start), bisect_left(node.keys, end)
    for at in range(first, last + 1):
        subtree = node.subtrees[at]
        if subtree is not None and (inner := place_below(node, place, at)).high > start:
            yield from _walk(Absent(subtree, inner), fetch_block, wanted, absent)
        if at < last:
            yield node.keys[at], node.values[at]


def _give_up(absent: Absent) -> None:
    raise MissingNode(absent.cid)
