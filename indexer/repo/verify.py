"""Verifies commits and #sync states: the account's signature, and the operations against the tree. Pure.

The decoder (`indexer/stream/decode.py`) has made the cheap checks before. Whether a commit chains onto the
repo's known head is checked in `indexer/repo/chain.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import libipld

from indexer.events import Commit, Operation, Sync
from indexer.repo import car, dag_cbor, mst
from indexer.repo.dag_cbor import CborError
from indexer.repo.mst import MstError
from indexer.repo.partial_tree import PartialTree
from indexer.repo.signing_keys import SIGNATURE_BYTES, Key
from schemas.ids import Did, Tid, is_tid

VERSION: Final = 3
EMPTY_TREE: Final = mst.EMPTY
_SIGNATURE: Final = b"\x63sig\x58" + bytes([SIGNATURE_BYTES])  # the field's name, and the head of its bytes
CHECKS: Final = (
    "commit object",
    "signature",
    "envelope",
    "tree",
    "operation",
    "inversion",
)


class Refused(ValueError):
    """The message is forged or broken. `check` is the check that failed; the message says why."""

    def __init__(self, check: str, reason: str) -> None:
        super().__init__(reason)
        self.check = check


class Unproven(Exception):
    """Lacks the fields that a verification needs, as commits before version 1.1 of the sync protocol do."""


@dataclass(frozen=True, slots=True)
class VerifiedHead:
    """A verified commit object. `data` is the CID of the repo's tree, `cid` the CID of the object itself."""

    did: Did
    rev: Tid
    data: bytes
    cid: bytes


def verify_commit(message: Commit, key: Key) -> VerifiedHead:
    """Verify a commit: its signature, and that exactly its operations led to its tree.

    Raises Refused or Unproven.
    """
    found = _signed(message, key)
    before = _tree_before(message)
    _check_operations(message, found.data, before)
    return found


def verify_sync(message: Sync, key: Key) -> VerifiedHead:
    """Verify the state that a #sync message set a repo to. Raises Refused."""
    return _signed(message, key)


def verify_head(blocks: Mapping[bytes, bytes], cid: bytes, did: Did, key: Key) -> VerifiedHead:
    """Verify that the commit object of this CID is this account's and signed with its key. Raises Refused."""
    block = blocks.get(cid)
    if block is None:
        raise Refused("commit object", "the commit object is missing")
    fields = _commit_object(block)
    rev, tree = fields.get("rev"), fields.get("data")
    if fields.get("did") != did:
        raise Refused("commit object", "the commit is another account's")
    if type(rev) is not str or not is_tid(rev):
        raise Refused("commit object", "the commit's rev is not a TID")
    if not car.is_cid(tree):
        raise Refused("commit object", "the commit has no tree")
    signature = fields.pop("sig", None)
    unsigned = libipld.encode_dag_cbor(fields)
    if type(signature) is not bytes or not key.verifies(signature, unsigned):
        raise Refused("signature", "the signature is not the account's")
    # libipld encodes plain bytes that look like a CID as a link, so its output is compared with the object.
    if _without(signature, block) != unsigned:
        raise Refused("commit object", "the commit object is not as it was signed")
    return VerifiedHead(did, Tid(rev), tree, cid)


def _commit_object(block: bytes) -> dict[str, Any]:
    try:
        fields = dag_cbor.decode_block(block)
    except CborError as error:
        raise Refused("commit object", f"the commit object {error}") from error
    if type(fields) is not dict or type(fields.get("version")) is not int or fields["version"] != VERSION:
        raise Refused("commit object", f"the commit is not version {VERSION}")
    return fields


def _without(signature: bytes, block: bytes) -> bytes:
    """The commit object's bytes without its signature, as they were signed."""
    return bytes([block[0] - 1]) + block[1:].replace(_SIGNATURE + signature, b"", 1)


def _signed(message: Commit | Sync, key: Key) -> VerifiedHead:
    found = verify_head(message.blocks, message.cid, message.did, key)
    if found.rev != message.rev:
        raise Refused("envelope", "the message names another rev than its commit")
    return found


def _tree_before(message: Commit) -> bytes:
    """The CID of the tree before the operations, as the message claims it. Raises Unproven."""
    if any(operation.action != "create" and operation.prev is None for operation in message.operations):
        raise Unproven("an operation does not say which version it replaced")
    if message.prev_data is not None:
        return message.prev_data
    if message.since is not None:
        raise Unproven("the commit does not say which tree it began with")
    return EMPTY_TREE


def _check_operations(message: Commit, root: bytes, before: bytes) -> None:
    """Check that each operation is in the tree, and that undoing all of them gives the tree before."""
    try:
        tree = PartialTree(root, message.blocks, (_key(operation) for operation in message.operations))
        for operation in message.operations:
            if tree.value(_key(operation)) != operation.cid:
                raise Refused("operation", "an operation is not in the tree")
    except MstError as error:
        raise Refused("tree", str(error)) from error
    try:
        undo_operations(tree, message.operations)
        if tree.root() != before:
            raise Refused("inversion", "without the operations the tree is not the one before")
    except MstError as error:
        raise Refused("inversion", str(error)) from error


def undo_operations(tree: PartialTree, operations: tuple[Operation, ...]) -> None:
    """Undo the operations on the tree. Raises MstError."""
    # Deleted keys come back first: a created key may separate the two subtrees that a deleted one belongs to.
    for operation in operations:
        if operation.prev is not None:
            tree.put(_key(operation), operation.prev)
    for operation in operations:
        if operation.action == "create":
            tree.remove(_key(operation))


def _key(operation: Operation) -> bytes:
    return operation.path.encode()
