"""The body of a #commit -> Commit, with every check that needs neither key nor tree. Pure.

A commit is taken whole or not at all: one wrong operation makes all of it unreadable.
"""

from collections.abc import Container, Mapping
from datetime import datetime

from indexer import car, envelope
from indexer.envelope import Body, Unreadable
from indexer.events import Commit, Operation
from schemas.ids import Did, Nsid, Tid, is_nsid, is_rkey, is_tid

# Limits of the protocol: https://atproto.com/specs/sync
MAX_RECORD_BYTES = 1_000_000
MAX_OPERATIONS = 200


def concerns_us(body: Body, collections: frozenset[Nsid], tracked: Container[Did]) -> bool:
    """True when it touches a collection of ours, is of an account of ours, or cannot be told."""
    did = body.get("repo")
    if type(did) is str and did in tracked:
        return True
    try:
        return any(operation["path"].partition("/")[0] in collections for operation in body["ops"])
    except (LookupError, TypeError, AttributeError):
        return True


def read(raw: bytes, body: Body, collections: frozenset[Nsid], received_at: datetime) -> Commit:
    """The commit that a frame carries. Raises Unreadable."""
    if body.get("tooBig"):
        raise Unreadable("the commit is marked too big to list its operations")
    seq, did = envelope.read_seq(body), envelope.read_did(body, "repo")
    time = envelope.find_time(body) or received_at
    rev = envelope.read_rev(body, min(time, received_at))
    cid, blocks = envelope.read_blocks(body)
    if body.get("commit") != cid:
        raise Unreadable("the CAR is of another commit")
    operations = _operations(body)
    for operation in operations:
        _check_record(operation, collections, blocks)
    since, prev_data = _since(body, rev), _cid(body, "prevData")
    return Commit(seq, did, rev, since, time, cid, prev_data, operations, blocks, raw)


def _since(body: Body, rev: Tid) -> Tid | None:
    since = body.get("since")
    if since is None:
        return None
    if type(since) is not str or not is_tid(since):
        raise Unreadable("since is not a TID")
    if since >= rev:
        raise Unreadable("rev does not follow since")
    return Tid(since)


def _cid(fields: Body, name: str) -> bytes | None:
    cid = fields.get(name)
    if cid is None or car.is_cid(cid):
        return cid
    raise Unreadable(f"{name} is not a CID")


def _operations(body: Body) -> tuple[Operation, ...]:
    listed = body.get("ops")
    if type(listed) is not list:
        raise Unreadable("the commit has no list of operations")
    if len(listed) > MAX_OPERATIONS:
        raise Unreadable("the commit has too many operations")
    operations = tuple(map(_operation, listed))
    if len({operation.path for operation in operations}) < len(operations):
        raise Unreadable("two operations are on one record")
    return operations


def _operation(listed: object) -> Operation:
    if type(listed) is not dict or type(path := listed.get("path")) is not str:
        raise Unreadable("an operation has no path")
    collection, _, rkey = path.partition("/")
    if not is_nsid(collection):
        raise Unreadable("an operation's collection is malformed")
    if not is_rkey(rkey):
        raise Unreadable("an operation's record key is malformed")
    cid, prev = _cid(listed, "cid"), _cid(listed, "prev")
    match listed.get("action"):
        case "delete":
            if cid is not None:
                raise Unreadable("a delete names a CID")
            return Operation("delete", path, None, prev)
        case "create" | "update" as action:
            if cid is None:
                raise Unreadable("an operation names no CID")
            if action == "create" and prev is not None:
                raise Unreadable("a create names a version before it")
            return Operation(action, path, cid, prev)
        case _:
            raise Unreadable("an operation's action is unknown")


def _check_record(operation: Operation, collections: frozenset[Nsid], blocks: Mapping[bytes, bytes]) -> None:
    """What we are to store must be there, and of a size that we store."""
    if operation.cid is None or operation.path.partition("/")[0] not in collections:
        return
    block = blocks.get(operation.cid)
    if block is None:
        raise Unreadable("an operation's record is not in the CAR")
    if len(block) > MAX_RECORD_BYTES:
        raise Unreadable("an operation's record is too large")
