"""A Jetstream's JSON, version 1 or 2 -> events. Pure; never raises, whatever the bytes.

A Jetstream sends records without proof. The one check that is possible is made: a record whose hash does not
match the CID it is sent with is refused.
"""

from collections.abc import Container
from datetime import UTC, datetime, timedelta

import libipld
import orjson

from indexer.events import Event, Operation, StreamError, Unverified
from indexer.repo import car, limits
from indexer.stream import decode, envelope
from indexer.stream.envelope import Body, Unreadable
from schemas import data_model
from schemas.data_model import DataModelError
from schemas.ids import Did, Nsid, is_rkey

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
MAX_FRAME_BYTES = 4 * limits.MAX_FRAME_BYTES  # JSON spells out what is not ASCII


def decode_json(
    raw: bytes, collections: frozenset[Nsid], tracked: Container[Did], received_at: datetime
) -> tuple[Event, ...]:
    """Decode a message into one event. Its seq is the microsecond at which the host received it."""
    body: Body | None = None
    try:
        kind, body = unwrap_message(raw)
        if kind != "#commit":
            return (decode.decode_notice(raw, kind, body, tracked, received_at),)
        collection = body.get("collection")
        if type(collection) is not str:
            raise Unreadable("an operation names no collection")
        if collection in collections:
            return (_commit(body, received_at),)
        return (decode.passed_event(body),)
    except Unreadable as reason:
        return (decode.malformed_event(raw, body, str(reason)),)


def unwrap_message(raw: bytes) -> tuple[str | None, Body]:
    """Split a message into type (None: an error) and body, with a relay's field names. Raises Unreadable."""
    if len(raw) > MAX_FRAME_BYTES:
        raise Unreadable("the frame is too large")
    try:
        message = orjson.loads(raw)
    except ValueError as error:
        raise Unreadable("the frame is not JSON") from error
    if type(message) is not dict:
        raise Unreadable("the frame is not an object")
    return _second(message) if "$type" in message else _first(message)


def stream_error(raw: bytes) -> StreamError | None:
    """Read an error frame; None for any other frame."""
    if b'"error"' not in raw:
        return None
    try:
        kind, body = unwrap_message(raw)
    except Unreadable:
        return None
    return StreamError(*envelope.read_note(body, "error")) if kind is None else None


def _first(message: Body) -> tuple[str, Body]:
    """Version 1: {did, time_us, kind, commit | identity | account}."""
    kind = message.get("kind")
    if type(kind) is not str:
        raise Unreadable("the frame does not name its kind")
    return f"#{kind}", _body(kind, message.get(kind), message.get("did"), message.get("time_us"))


def _second(message: Body) -> tuple[str | None, Body]:
    """Version 2: a message whose type ends in #commit, #identity and so on, in an envelope; or an error."""
    if message["$type"] == "error":
        return None, message
    payload = message.get("payload")
    if type(payload) is not dict or type(payload.get("$type")) is not str:
        raise Unreadable("the frame does not name its kind")
    kind = payload["$type"].rpartition("#")[2]
    if kind == "info":
        return "#info", payload
    witnessed_at = envelope.find_time({"time": payload.get("witnessedAt", payload.get("time"))})
    microseconds = None if witnessed_at is None else (witnessed_at - EPOCH) // MICROSECOND
    fields = payload if kind == "commit" else payload.get(kind)
    body = _body(kind, fields, payload.get("did"), microseconds)
    if type(blocks := body.get("blocks")) is dict:
        body["blocks"] = _bytes(blocks)
    return f"#{kind}", body


def _body(kind: str, fields: object, did: object, microseconds: object) -> Body:
    """The fields as a relay would send them. An account's status keeps its own time, to order statuses by."""
    body = (fields if type(fields) is dict else {}) | {"did": did, "seq": microseconds}
    if (kind == "commit" or "time" not in body) and (seq := envelope.find_seq(body)) is not None:
        try:
            body["time"] = (EPOCH + seq * MICROSECOND).isoformat()
        except OverflowError:
            raise Unreadable("the frame comes from after the year 9999") from None
    return body


def _commit(body: Body, received_at: datetime) -> Unverified:
    seq, did = envelope.read_seq(body), envelope.read_did(body, "did")
    time = envelope.find_time(body) or received_at
    rev = envelope.read_rev(body, min(time, received_at))
    rkey = body.get("rkey")
    if type(rkey) is not str or not is_rkey(rkey):
        raise Unreadable("an operation's record key is malformed")
    path = f"{body['collection']}/{rkey}"
    match body.get("operation"):
        case "delete":
            return Unverified(seq, did, rev, time, (Operation("delete", path, None, None),), {})
        case "create" | "update" as action:
            cid, block = _record(body)
            return Unverified(seq, did, rev, time, (Operation(action, path, cid, None),), {cid: block})
        case _:
            raise Unreadable("an operation's action is unknown")


def _record(body: Body) -> tuple[bytes, bytes]:
    """The CID that the record is sent with, and the record as DAG-CBOR. Raises Unreadable."""
    try:
        cid = data_model.read_link(body.get("cid"))
        block: bytes = libipld.encode_dag_cbor(data_model.read_record(body.get("record")))
    except DataModelError as error:
        raise Unreadable(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise Unreadable("the record is not in atproto's data model") from error
    if len(block) > limits.MAX_RECORD_BYTES:
        raise Unreadable("an operation's record is too large")
    if not car.is_cid(cid) or not car.matches_cid(cid, block):
        raise Unreadable("the record does not match its CID")
    return cid, block


def _bytes(written: Body) -> bytes:
    try:
        return data_model.read_base64(written.get("$bytes"))
    except DataModelError as error:
        raise Unreadable(str(error)) from error
