"""Frame bytes -> events. Pure: no network, no clock, no database. Never raises, whatever the bytes."""

from collections.abc import Container
from datetime import UTC, datetime, timedelta
from typing import Any

import libipld

from indexer import car
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
from schemas.ids import Cid, Did, Nsid, Rkey, Tid, is_did, is_rkey, is_tid, tid_time

# Limits of the protocol: https://atproto.com/specs/sync
MAX_FRAME_BYTES = 5_000_000
MAX_RECORD_BYTES = 1_000_000
MAX_OPERATIONS = 200
MAX_AHEAD = timedelta(minutes=5)

_MAX_SEQ = 2**63 - 1
_MAX_NAME = 64
_MAX_MESSAGE = 300

_Body = dict[str, Any]


class _Refused(Exception):
    """The message cannot be used, for this reason."""


def decode(
    raw: bytes, collections: frozenset[Nsid], tracked: Container[Did], received_at: datetime
) -> tuple[Event, ...]:
    """Say what a frame means to us: nearly always one event.

    A commit with operations that cannot be used gives the good ones as a Commit, the rest as one Malformed.
    `received_at` stands in for the time of a message of ours whose own time cannot be read.
    """
    if passed := _someone_elses(raw, collections):
        return (passed,)
    body: _Body | None = None
    try:
        kind, body = _open(raw)
        if kind == "#commit":
            return _commit(raw, body, collections, tracked, received_at)
        return (_other(kind, body, tracked, received_at),)
    except _Refused as refused:
        return (_malformed(raw, body, str(refused)),)


def _someone_elses(raw: bytes, collections: frozenset[Nsid]) -> Passed | None:
    """The fast path: a plain commit on other collections. None says no more than: look with care."""
    if len(raw) > MAX_FRAME_BYTES:
        return None
    try:
        header, body = libipld.decode_dag_cbor_multi(raw)
        if header["t"] != "#commit" or header["op"] != 1 or body["tooBig"]:
            return None
        for operation in body["ops"]:
            if operation["path"].partition("/")[0] in collections:
                return None
        seq, time = body["seq"], datetime.fromisoformat(body["time"])
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None
    return Passed(seq, time) if type(seq) is int and 0 <= seq <= _MAX_SEQ and time.tzinfo is UTC else None


def _open(raw: bytes) -> tuple[str | None, _Body]:
    """The message's type, None for an error, and its body."""
    if len(raw) > MAX_FRAME_BYTES:
        raise _Refused("the frame is too large")
    try:
        parts = libipld.decode_dag_cbor_multi(raw)
    except (ValueError, RecursionError) as error:
        raise _Refused("the frame is not DAG-CBOR") from error
    if len(parts) != 2 or type(parts[0]) is not dict or type(parts[1]) is not dict:
        raise _Refused("the frame is not a header and a body")
    header, body = parts
    op, kind = header.get("op"), header.get("t")
    if op == 1 and type(kind) is str:
        return kind, body
    if op == -1:
        return None, body
    raise _Refused("the frame's header names neither a message nor an error")


def _commit(
    raw: bytes, body: _Body, collections: frozenset[Nsid], tracked: Container[Did], received_at: datetime
) -> tuple[Event, ...]:
    if not _concerns_us(body, collections, tracked):
        return (_passed(body),)
    seq, did, rev = _seq(body), _did(body, "repo"), _rev(body)
    time = _time(body) or received_at
    if tid_time(rev) - time > MAX_AHEAD:
        raise _Refused("rev lies in the future")
    blocks, faults = _blocks(body)
    if body.get("tooBig"):
        faults.append("the commit is marked too big to list its operations")
    good = _operations(_listed(body), collections, blocks, faults)
    events: list[Event] = []
    if good:
        events.append(Commit(seq, did, rev, time, good))
    if faults:
        more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
        events.append(Malformed(seq, did, faults[0] + more, raw))
    return tuple(events)


def _concerns_us(body: _Body, collections: frozenset[Nsid], tracked: Container[Did]) -> bool:
    """True when an operation is on a collection of ours, or what there is cannot be told."""
    try:
        if any(operation["path"].partition("/")[0] in collections for operation in body["ops"]):
            return True
    except (LookupError, TypeError, AttributeError):
        return True
    # Of a stranger such a commit says nothing; of an account of ours it may hide operations.
    did = body.get("repo")
    return bool(body.get("tooBig")) and type(did) is str and did in tracked


def _blocks(body: _Body) -> tuple[dict[bytes, bytes], list[str]]:
    """The blocks that have the hash they claim, and what is wrong with the others."""
    blocks = body.get("blocks")
    if type(blocks) is not bytes:
        raise _Refused("the commit has no blocks")
    try:
        _, pairs = car.split(blocks)
    except car.CarError as error:
        raise _Refused(str(error)) from error
    sound = {cid: block for cid, block in pairs if car.matches(cid, block)}
    wrong = any(cid not in sound for cid, _ in pairs)
    return sound, ["a block does not match its CID"] if wrong else []


def _listed(body: _Body) -> list[object]:
    operations = body.get("ops")
    if type(operations) is not list:
        raise _Refused("the commit has no list of operations")
    if len(operations) > MAX_OPERATIONS:
        raise _Refused("the commit has too many operations")
    return operations


def _operations(
    listed: list[object], collections: frozenset[Nsid], blocks: dict[bytes, bytes], faults: list[str]
) -> tuple[Operation, ...]:
    """The operations of ours that can be used; why the others cannot is added to `faults`."""
    good: list[Operation] = []
    paths: set[str] = set()
    for operation in listed:
        path = operation.get("path") if type(operation) is dict else None
        if type(operation) is not dict or type(path) is not str:
            faults.append("an operation has no path")
            continue
        collection, _, rkey = path.partition("/")
        if collection not in collections:
            continue
        try:
            if path in paths:
                raise _Refused("two operations are on one record")
            paths.add(path)
            good.append(_operation(operation, Nsid(collection), rkey, blocks))
        except _Refused as refused:
            faults.append(str(refused))
    return tuple(good)


def _operation(listed: _Body, collection: Nsid, rkey: str, blocks: dict[bytes, bytes]) -> Operation:
    if not is_rkey(rkey):
        raise _Refused("an operation's record key is malformed")
    cid = listed.get("cid")
    match listed.get("action"):
        case "delete":
            if cid is not None:
                raise _Refused("a delete names a CID")
            return Operation("delete", collection, Rkey(rkey), None, None)
        case "create" | "update" as action:
            if not car.is_cid(cid):
                raise _Refused("an operation names no CID")
            block = blocks.get(cid)
            if block is None:
                raise _Refused("an operation's record is not in the CAR")
            if len(block) > MAX_RECORD_BYTES:
                raise _Refused("an operation's record is too large")
            text = Cid(libipld.encode_multibase("b", cid))
            return Operation(action, collection, Rkey(rkey), text, block)
        case _:
            raise _Refused("an operation's action is unknown")


def _other(kind: str | None, body: _Body, tracked: Container[Did], received_at: datetime) -> Event:
    match kind:
        case None:
            return StreamError(*_note(body, "error"))
        case "#info":
            return Info(*_note(body, "name"))
        case "#account" | "#identity" | "#sync":
            did = body.get("did")
            if type(did) is str and did not in tracked:
                return _passed(body)
        case _:
            return Passed(_seq_or_none(body), _time(body), unknown=kind[:_MAX_NAME])
    seq, did, time = _seq(body), _did(body, "did"), _time(body) or received_at
    match kind:
        case "#account":
            return Account(seq, did, time, _hosting_status(body))
        case "#identity":
            return Identity(seq, did, time)
        case _:
            return Sync(seq, did, _rev(body), time)


def _hosting_status(body: _Body) -> str:
    active, status = body.get("active"), body.get("status")
    if type(active) is not bool:
        raise _Refused("active is neither true nor false")
    if active:
        return "active"
    told = type(status) is str and 0 < len(status) <= _MAX_NAME and status != "active"
    return str(status) if told else "inactive"


def _note(body: _Body, field: str) -> tuple[str, str]:
    name, message = body.get(field), body.get("message")
    return (
        name[:_MAX_NAME] if type(name) is str else "Unnamed",
        message[:_MAX_MESSAGE] if type(message) is str else "",
    )


def _passed(body: _Body) -> Passed:
    return Passed(_seq_or_none(body), _time(body))


def _malformed(raw: bytes, body: _Body | None, reason: str) -> Malformed:
    if body is None:
        return Malformed(None, None, reason, raw)
    did = body.get("repo", body.get("did"))
    return Malformed(_seq_or_none(body), did if type(did) is str and is_did(did) else None, reason, raw)


def _seq_or_none(body: _Body) -> int | None:
    seq = body.get("seq")
    return seq if type(seq) is int and 0 <= seq <= _MAX_SEQ else None


def _seq(body: _Body) -> int:
    seq = _seq_or_none(body)
    if seq is None:
        raise _Refused("seq is not a number")
    return seq


def _did(body: _Body, field: str) -> Did:
    did = body.get(field)
    if type(did) is not str or not is_did(did):
        raise _Refused(f"{field} is not a DID")
    return Did(did)


def _rev(body: _Body) -> Tid:
    rev = body.get("rev")
    if type(rev) is not str or not is_tid(rev):
        raise _Refused("rev is not a TID")
    return Tid(rev)


def _time(body: _Body) -> datetime | None:
    """The message's own time in UTC; None when it has none that can be read."""
    text = body.get("time")
    if type(text) is not str or len(text) > _MAX_NAME:
        return None
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is UTC:
            return time
        return None if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
