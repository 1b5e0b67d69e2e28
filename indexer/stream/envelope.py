"""Reads a frame's header and body, and checks the fields that all messages share. Pure."""

from datetime import UTC, datetime
from typing import Any

import libipld

from indexer.repo import car
from indexer.repo.limits import MAX_AHEAD, MAX_FRAME_BYTES
from schemas.ids import Did, Tid, is_did, is_tid, tid_time

MAX_SEQ = 2**63 - 1
MAX_NAME = 64
MAX_MESSAGE = 300

Body = dict[str, Any]


class Unreadable(Exception):
    """The message cannot be used, for this reason."""


def unwrap_frame(raw: bytes) -> tuple[str | None, Body]:
    """Split a frame into its message's type (None for an error) and body. Raises Unreadable."""
    if len(raw) > MAX_FRAME_BYTES:
        raise Unreadable("the frame is too large")
    try:
        parts = libipld.decode_dag_cbor_multi(raw)
    except (ValueError, RecursionError) as error:
        raise Unreadable("the frame is not DAG-CBOR") from error
    if len(parts) != 2 or type(parts[0]) is not dict or type(parts[1]) is not dict:
        raise Unreadable("the frame is not a header and a body")
    header, body = parts
    op, kind = header.get("op"), header.get("t")
    if op == 1 and type(kind) is str:
        return kind, body
    if op == -1:
        return None, body
    raise Unreadable("the frame's header names neither a message nor an error")


def seq_of(raw: bytes) -> int | None:
    """The frame's sequence number; None when it has none."""
    try:
        return find_seq(unwrap_frame(raw)[1])
    except Unreadable:
        return None


def find_seq(body: Body) -> int | None:
    seq = body.get("seq")
    return seq if type(seq) is int and 0 <= seq <= MAX_SEQ else None


def read_seq(body: Body) -> int:
    seq = find_seq(body)
    if seq is None:
        raise Unreadable("seq is not a number")
    return seq


def read_did(body: Body, field: str) -> Did:
    did = body.get(field)
    if type(did) is not str or not is_did(did):
        raise Unreadable(f"{field} is not a DID")
    return Did(did)


def read_rev(body: Body, instant: datetime) -> Tid:
    """Read the rev of a message sent at this instant. Raises Unreadable."""
    rev = body.get("rev")
    if type(rev) is not str or not is_tid(rev):
        raise Unreadable("rev is not a TID")
    if tid_time(rev) - instant > MAX_AHEAD:
        raise Unreadable("rev lies in the future")
    return Tid(rev)


def read_blocks(body: Body) -> tuple[bytes, dict[bytes, bytes]]:
    """Read the CID of the commit object, and all blocks, each compared with its CID. Raises Unreadable."""
    blocks = body.get("blocks")
    if type(blocks) is not bytes:
        raise Unreadable("the message has no blocks")
    try:
        opened = car.read_car(blocks)
    except car.CarError as error:
        raise Unreadable(str(error)) from error
    if len(opened.roots) != 1 or opened.roots[0] not in opened.blocks:
        raise Unreadable("the commit object is not in the CAR")
    return opened.roots[0], opened.blocks


def find_time(body: Body) -> datetime | None:
    """The message's own time in UTC; None when it is missing or unreadable."""
    text = body.get("time")
    if type(text) is not str or len(text) > MAX_NAME:
        return None
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is UTC:
            return time
        return None if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def read_note(body: Body, field: str) -> tuple[str, str]:
    name, message = body.get(field), body.get("message")
    return (
        name[:MAX_NAME] if type(name) is str else "Unnamed",
        message[:MAX_MESSAGE] if type(message) is str else "",
    )
