"""Frame bytes -> events. Pure: no network, no clock, no database. Never raises, whatever the bytes."""

from collections.abc import Container
from datetime import UTC, datetime, timedelta

import libipld

from indexer import car, envelope
from indexer.envelope import Body, Refused
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
from schemas.ids import Cid, Did, Nsid, Rkey, is_did, is_rkey, tid_time

# Limits of the protocol: https://atproto.com/specs/sync
MAX_RECORD_BYTES = 1_000_000
MAX_OPERATIONS = 200
MAX_AHEAD = timedelta(minutes=5)


def decode(
    raw: bytes, collections: frozenset[Nsid], tracked: Container[Did], received_at: datetime
) -> tuple[Event, ...]:
    """Say what a frame means to us: nearly always one event.

    A commit with operations that cannot be used gives the good ones as a Commit, the rest as one Malformed.
    `received_at` stands in for the time of a message of ours whose own time cannot be read.
    """
    if len(raw) > envelope.MAX_FRAME_BYTES:
        return _with_care(raw, collections, tracked, received_at)
    # The fast path: a plain commit on other collections. Anything else is looked at again, with care.
    try:
        header, body = libipld.decode_dag_cbor_multi(raw)
        if header["t"] == "#commit" and header["op"] == 1 and not body["tooBig"]:
            for operation in body["ops"]:
                if operation["path"].partition("/")[0] in collections:
                    break
            else:
                seq, time = body["seq"], datetime.fromisoformat(body["time"])
                if type(seq) is int and 0 <= seq <= envelope.MAX_SEQ and time.tzinfo is UTC:
                    return (Passed(seq, time),)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        pass
    return _with_care(raw, collections, tracked, received_at)


def _with_care(
    raw: bytes, collections: frozenset[Nsid], tracked: Container[Did], received_at: datetime
) -> tuple[Event, ...]:
    body: Body | None = None
    try:
        kind, body = envelope.unwrap(raw)
        if kind == "#commit":
            return _commit(raw, body, collections, tracked, received_at)
        return (_other(kind, body, tracked, received_at),)
    except Refused as refused:
        return (_malformed(raw, body, str(refused)),)


def stream_error(raw: bytes) -> StreamError | None:
    """What an error frame says; None for any other frame."""
    try:
        kind, body = envelope.unwrap(raw)
    except Refused:
        return None
    return StreamError(*envelope.read_note(body, "error")) if kind is None else None


def _commit(
    raw: bytes,
    body: Body,
    collections: frozenset[Nsid],
    tracked: Container[Did],
    received_at: datetime,
) -> tuple[Event, ...]:
    if not _concerns_us(body, collections, tracked):
        return (_passed(body),)
    seq, did, rev = envelope.read_seq(body), envelope.read_did(body, "repo"), envelope.read_rev(body)
    time = envelope.find_time(body) or received_at
    if tid_time(rev) - time > MAX_AHEAD:
        raise Refused("rev lies in the future")
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


def _concerns_us(body: Body, collections: frozenset[Nsid], tracked: Container[Did]) -> bool:
    """True when an operation is on a collection of ours, or what there is cannot be told."""
    try:
        if any(operation["path"].partition("/")[0] in collections for operation in body["ops"]):
            return True
    except (LookupError, TypeError, AttributeError):
        return True
    # Of a stranger such a commit says nothing; of an account of ours it may hide operations.
    did = body.get("repo")
    return bool(body.get("tooBig")) and type(did) is str and did in tracked


def _blocks(body: Body) -> tuple[dict[bytes, bytes], list[str]]:
    """The blocks that have the hash they claim, and what is wrong with the others."""
    blocks = body.get("blocks")
    if type(blocks) is not bytes:
        raise Refused("the commit has no blocks")
    try:
        _, pairs = car.split(blocks)
    except car.CarError as error:
        raise Refused(str(error)) from error
    sound = {cid: block for cid, block in pairs if car.matches(cid, block)}
    wrong = any(cid not in sound for cid, _ in pairs)
    return sound, ["a block does not match its CID"] if wrong else []


def _listed(body: Body) -> list[object]:
    operations = body.get("ops")
    if type(operations) is not list:
        raise Refused("the commit has no list of operations")
    if len(operations) > MAX_OPERATIONS:
        raise Refused("the commit has too many operations")
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
                raise Refused("two operations are on one record")
            paths.add(path)
            good.append(_operation(operation, Nsid(collection), rkey, blocks))
        except Refused as refused:
            faults.append(str(refused))
    return tuple(good)


def _operation(listed: Body, collection: Nsid, rkey: str, blocks: dict[bytes, bytes]) -> Operation:
    if not is_rkey(rkey):
        raise Refused("an operation's record key is malformed")
    cid = listed.get("cid")
    match listed.get("action"):
        case "delete":
            if cid is not None:
                raise Refused("a delete names a CID")
            return Operation("delete", collection, Rkey(rkey), None, None)
        case "create" | "update" as action:
            if not car.is_cid(cid):
                raise Refused("an operation names no CID")
            block = blocks.get(cid)
            if block is None:
                raise Refused("an operation's record is not in the CAR")
            if len(block) > MAX_RECORD_BYTES:
                raise Refused("an operation's record is too large")
            text = Cid(libipld.encode_multibase("b", cid))
            return Operation(action, collection, Rkey(rkey), text, block)
        case _:
            raise Refused("an operation's action is unknown")


def _other(kind: str | None, body: Body, tracked: Container[Did], received_at: datetime) -> Event:
    match kind:
        case None:
            return StreamError(*envelope.read_note(body, "error"))
        case "#info":
            return Info(*envelope.read_note(body, "name"))
        case "#account" | "#identity" | "#sync":
            did = body.get("did")
            if type(did) is str and did not in tracked:
                return _passed(body)
        case _:
            return _passed(body)._replace(unknown=kind[: envelope.MAX_NAME])
    seq, did = envelope.read_seq(body), envelope.read_did(body, "did")
    time = envelope.find_time(body) or received_at
    match kind:
        case "#account":
            return Account(seq, did, time, _hosting_status(body))
        case "#identity":
            return Identity(seq, did, time)
        case _:
            return Sync(seq, did, envelope.read_rev(body), time)


def _hosting_status(body: Body) -> str:
    active, status = body.get("active"), body.get("status")
    if type(active) is not bool:
        raise Refused("active is neither true nor false")
    if active:
        return "active"
    told = type(status) is str and 0 < len(status) <= envelope.MAX_NAME and status != "active"
    return str(status) if told else "inactive"


def _passed(body: Body) -> Passed:
    return Passed(envelope.find_seq(body), envelope.find_time(body))


def _malformed(raw: bytes, body: Body | None, reason: str) -> Malformed:
    if body is None:
        return Malformed(None, None, reason, raw)
    did = body.get("repo", body.get("did"))
    return Malformed(envelope.find_seq(body), did if type(did) is str and is_did(did) else None, reason, raw)
