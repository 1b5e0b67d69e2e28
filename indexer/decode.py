"""Frame bytes -> events. Pure: no network, no clock, no database. Never raises, whatever the bytes."""

from collections.abc import Container
from datetime import UTC, datetime

import libipld

from indexer import commits, envelope
from indexer.envelope import Body, Unreadable
from indexer.events import Account, Event, Identity, Info, Malformed, Passed, StreamError, Sync
from schemas.ids import Did, Nsid, is_did


def decode(
    raw: bytes, collections: frozenset[Nsid], tracked: Container[Did], received_at: datetime
) -> tuple[Event, ...]:
    """Say what a frame means to us: one event.

    Commits are ours when they touch one of the collections or come from a tracked account. `received_at`
    stands in for the time of a message whose own time cannot be read.
    """
    if len(raw) > envelope.MAX_FRAME_BYTES:
        return _with_care(raw, collections, tracked, received_at)
    # The fast path: a stranger's plain commit on other collections. The rest is looked at again, with care.
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
        kind, body = envelope.unwrap(raw)
        if kind != "#commit":
            return (notice(raw, kind, body, tracked, received_at),)
        if commits.concerns_us(body, collections, tracked):
            return (commits.read(raw, body, collections, received_at),)
        return (passed(body),)
    except Unreadable as reason:
        return (malformed(raw, body, str(reason)),)


def stream_error(raw: bytes) -> StreamError | None:
    """What an error frame says; None for any other frame."""
    try:
        kind, body = envelope.unwrap(raw)
    except Unreadable:
        return None
    return StreamError(*envelope.read_note(body, "error")) if kind is None else None


def notice(raw: bytes, kind: str | None, body: Body, tracked: Container[Did], received_at: datetime) -> Event:
    """What any message but a commit means. Raises Unreadable."""
    match kind:
        case None:
            return StreamError(*envelope.read_note(body, "error"))
        case "#info":
            return Info(*envelope.read_note(body, "name"))
        case "#account" | "#identity" | "#sync":
            did = body.get("did")
            if type(did) is str and did not in tracked:
                return passed(body)
        case _:
            return passed(body)._replace(unknown=kind[: envelope.MAX_NAME])
    seq, did = envelope.read_seq(body), envelope.read_did(body, "did")
    # Of two statuses the later counts, so nobody may say that his is of tomorrow.
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
    told = type(status) is str and 0 < len(status) <= envelope.MAX_NAME and status != "active"
    return str(status) if told else "inactive"


def passed(body: Body) -> Passed:
    """A message that does not concern us."""
    return Passed(envelope.find_seq(body), envelope.find_time(body))


def malformed(raw: bytes, body: Body | None, reason: str) -> Malformed:
    """A message that cannot be used, with what can be told of it."""
    if body is None:
        return Malformed(None, None, reason, raw)
    did = body.get("repo", body.get("did"))
    return Malformed(envelope.find_seq(body), did if type(did) is str and is_did(did) else None, reason, raw)
