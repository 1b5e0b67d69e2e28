"""Repo trees, as far as a proof shows them: is a record in it, and which. Pure.

Format: https://atproto.com/specs/repository#mst-structure. A node holds entries whose keys leave out what
they share with the entry before, with links to the subtrees left of, between and right of them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import libipld

from indexer import car

MAX_DEPTH = 128  # a layer per two zero bits of a SHA-256
MAX_KEY_BYTES = 1024


class MstError(ValueError):
    """The tree cannot be followed; the message says why in a few words."""


def find(root: bytes, blocks: Mapping[bytes, bytes], path: str) -> bytes | None:
    """The CID of the record at `collection/rkey`; None is proof that there is none.

    Raises MstError when a node on the way is missing or malformed, so nothing is proved.
    """
    wanted = path.encode()
    subtree: bytes | None = root
    for _ in range(MAX_DEPTH):
        if subtree is None:
            return None
        node = _node(subtree, blocks)
        subtree = _link(node.get("l"), "a subtree")
        for key, entry in _entries(node):
            if key > wanted:
                break
            if key == wanted:
                value = _link(entry.get("v"), "a record")
                if value is None:
                    raise MstError("an entry of the tree has no record")
                return value
            subtree = _link(entry.get("t"), "a subtree")
    raise MstError("the tree is too deep")


def _node(cid: bytes, blocks: Mapping[bytes, bytes]) -> dict[str, Any]:
    block = blocks.get(cid)
    if block is None:
        raise MstError("a node of the tree is missing")
    try:
        node = libipld.decode_dag_cbor(block)
    except (ValueError, RecursionError) as error:
        raise MstError("a node of the tree is not DAG-CBOR") from error
    if not isinstance(node, dict) or not isinstance(node.get("e"), list):
        raise MstError("a node of the tree has no entries")
    return node


def _entries(node: dict[str, Any]) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Whole keys with their entries, in order."""
    before = b""
    for entry in node["e"]:
        if not isinstance(entry, dict):
            raise MstError("an entry of the tree is not a map")
        shared, rest = entry.get("p"), entry.get("k")
        if type(shared) is not int or not isinstance(rest, bytes) or not 0 <= shared <= len(before):
            raise MstError("a key of the tree is malformed")
        key = before[:shared] + rest
        if key <= before or len(key) > MAX_KEY_BYTES:
            raise MstError("the keys of the tree are out of order")
        yield key, entry
        before = key


def _link(value: object, what: str) -> bytes | None:
    if value is None or car.is_cid(value):
        return value
    raise MstError(f"the link to {what} is not a CID")
