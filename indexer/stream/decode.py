"""A relay's frames (DAG-CBOR) -> events. Pure; never raises, whatever the bytes."""

from collections.abc import Container, Mapping
from datetime import UTC, datetime

import libipld

from indexer.events import (
    Account,
    Commit,
    Event,
    Identity,
    Info,
    Malformed,
    Operation,
    Passed,
    StreamError,
    Sync,
)
from indexer.repo import car, limits
from indexer.repo.limits import MAX_OPERATIONS, MAX_RECORD_BYTES
from indexer.stream import envelope
from indexer.stream.envelope import Body, Unreadable
from schemas.ids import Did, Nsid, Tid, is_did, is_nsid, is_rkey, is_tid


def decode_frame(
    raw: bytes, collections: frozenset[Nsid], tracked: Container[Did], received_at: datetime
) -> tuple[Event, ...]:
    """Decode a frame into one event.

    A commit is relevant when it touches one of the collections or comes from a tracked account; any other
    is `Passed`. `received_at` replaces the time of a message whose own time cannot be read.
    """
    if len(raw) > limits.MAX_FRAME_BYTES:
        return _with_care(raw, collections, tracked, received_at)
    # The fast path: a well-formed commit of an untracked account on other collections.
    try:
        header, body = libipld.decode_dag_cbor_multi(raw)
        if header["t"] == "#commit" and header["op"] == 1 and not body["tooBig"]:
            for operation in body["ops"]:
                if operation["path"].partition("/")[0] in collections:
                    break
            else:
                seq, time = body["seq"], datetime.fromisoformat(body["time"])
                is_plain = type(seq) is int and 0 <= seq <= envelope.MAX_SEQ and time.tzinfo is UTC
                if is_plain and body["repo"] not in tracked:
                    return (Passed(seq, time),)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        pass
    return _with_care(raw, collections, tracked, received_at)


def _with_care(
    raw: bytes, collections: frozenset[Nsid], tracked: Container[Did], received_at: datetime
) -> tuple[Event, ...]:
    body: Body | None = None
    try:
        kind, body = envelope.unwrap_frame(raw)
        if kind != "#commit":
            return (decode_notice(raw, kind, body, tracked, received_at),)
        if concerns_us(body, collections, tracked):
            return (read_commit(raw, body, collections, received_at),)
        return (passed_event(body),)
    except Unreadable as reason:
        return (malformed_event(raw, body, str(reason)),)


def stream_error(raw: bytes) -> StreamError | None:
    """Read an error frame; None for any other frame."""
    try:
        kind, body = envelope.unwrap_frame(raw)
    except Unreadable:
        return None
    return StreamError(*envelope.read_note(body, "error")) if kind is None else None


def decode_notice(
    raw: bytes, kind: str | None, body: Body, tracked: Container[Did], received_at: datetime
) -> Event:
    """Decode any message but a commit. Raises Unreadable."""
    match kind:
        case None:
            return StreamError(*envelope.read_note(body, "error"))
        case "#info":
            return Info(*envelope.read_note(body, "name"))
        case "#account" | "#identity" | "#sync":
            did = body.get("did")
            if type(did) is str and did not in tracked:
                return passed_event(body)
        case _:
            return passed_event(body)._replace(unknown=kind[: envelope.MAX_NAME])
    seq, did = envelope.read_seq(body), envelope.read_did(body, "did")
    # Of two statuses the later one counts, so a host must not date its own in the future.
    time = min(envelope.find_time(body) or received_at, received_at)
    match kind:
        case "#account":
            return Account(seq, did, time, _hosting_status(body))
        case "#identity":
            return Identity(seq, did, time)
        case _:
            rev = envelope.read_rev(body, time)
            return Sync(seq, did, rev, time, *envelope.read_blocks(body), raw)


def _hosting_status(body: Body) -> str:
    active, status = body.get("active"), body.get("status")
    if type(active) is not bool:
        raise Unreadable("active is neither true nor false")
    if active:
        return "active"
    is_named = type(status) is str and 0 < len(status) <= envelope.MAX_NAME and status != "active"
    return str(status) if is_named else "inactive"


def passed_event(body: Body) -> Passed:
    """The event of a message without changes to our collections or tracked accounts."""
    return Passed(envelope.find_seq(body), envelope.find_time(body))


def malformed_event(raw: bytes, body: Body | None, reason: str) -> Malformed:
    """The event of a message that cannot be used, with its seq and DID where they are readable."""
    if body is None:
        return Malformed(None, None, reason, raw)
    did = body.get("repo", body.get("did"))
    return Malformed(envelope.find_seq(body), did if type(did) is str and is_did(did) else None, reason, raw)


def concerns_us(body: Body, collections: frozenset[Nsid], tracked: Container[Did]) -> bool:
    """True when a commit touches one of the collections, is a tracked account's, or is unreadable."""
    did = body.get("repo")
    if type(did) is str and did in tracked:
        return True
    try:
        return any(operation["path"].partition("/")[0] in collections for operation in body["ops"])
    except (LookupError, TypeError, AttributeError):
        return True


def read_commit(raw: bytes, body: Body, collections: frozenset[Nsid], received_at: datetime) -> Commit:
    """Read and check the commit of a frame. Raises Unreadable."""
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
    """Check that the record of an operation on our collections is present and not too large."""
    if operation.cid is None or operation.path.partition("/")[0] not in collections:
        return
    block = blocks.get(operation.cid)
    if block is None:
        raise Unreadable("an operation's record is not in the CAR")
    if len(block) > MAX_RECORD_BYTES:
        raise Unreadable("an operation's record is too large")
