"""Records as atproto's JSON writes them -> values as DAG-CBOR decodes to. Pure.

https://atproto.com/specs/data-model: `{"$link": …}` is a CID, `{"$bytes": …}` bytes; numbers are integers.
"""

import base64
import hashlib
from typing import Any

import libipld

from schemas.ids import Cid

_RECORD_CID = b"\x01\x71\x12\x20"  # version 1, DAG-CBOR, SHA-256 of 32 bytes
_CID_BYTES = 36


class DataModelError(ValueError):
    """The JSON violates the data model; the message says how."""


def read_record(record: object) -> dict[str, Any]:
    """Convert a record. Raises DataModelError, and RecursionError for one that is nested too deep."""
    if type(record) is not dict:
        raise DataModelError("the record is not a map")
    value = _value(record)
    if type(value) is not dict:
        raise DataModelError("the record is not a map")
    return value


def read_link(text: object) -> bytes:
    """The bytes of a CID. Raises DataModelError."""
    if type(text) is not str:
        raise DataModelError("a CID is not text")
    try:
        _, cid = libipld.decode_multibase(text)
        libipld.decode_cid(cid)
    except ValueError as error:
        raise DataModelError("a CID is malformed") from error
    return bytes(cid)


def read_base64(text: object) -> bytes:
    """Decode base64. Raises DataModelError."""
    try:
        if type(text) is str:
            return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        pass
    raise DataModelError("bytes are not base64")


def _value(value: Any) -> Any:
    if type(value) is list:
        return [_value(item) for item in value]
    if type(value) is dict:
        return _map(value)
    if type(value) is float:
        if not value.is_integer():
            raise DataModelError("a number is not an integer")
        return int(value)
    return value


def _map(fields: dict[str, Any]) -> Any:
    if "$link" in fields or "$bytes" in fields:
        if len(fields) > 1:
            raise DataModelError("a link or bytes have other fields beside them")
        return read_link(fields["$link"]) if "$link" in fields else read_base64(fields["$bytes"])
    if "$type" in fields:
        _check_type(fields)
    return {name: _value(item) for name, item in fields.items()}


def _check_type(fields: dict[str, Any]) -> None:
    kind = fields["$type"]
    if type(kind) is not str or not kind:
        raise DataModelError("a $type is not a name")
    if kind == "blob":
        ref, size, media_type = fields.get("ref"), fields.get("size"), fields.get("mimeType")
        is_linked = type(ref) is dict and ref.keys() == {"$link"}
        if not is_linked or type(size) is not int or type(media_type) is not str:
            raise DataModelError("a blob lacks its link, size or type")


def record_cid(value: dict[str, Any]) -> Cid:
    """The CID that a record will have."""
    return block_cid(libipld.encode_dag_cbor(read_record(value)))


def block_cid(block: bytes) -> Cid:
    """The CID of a record as DAG-CBOR."""
    return Cid(libipld.encode_cid(_RECORD_CID + hashlib.sha256(block).digest()))


def write_record(value: Any) -> Any:
    """A value as DAG-CBOR decodes to -> as atproto's JSON writes it. Bytes that are a CID are a link."""
    if type(value) is dict:
        return {name: write_record(item) for name, item in value.items()}
    if type(value) is list:
        return [write_record(item) for item in value]
    if type(value) is not bytes:
        return value
    if len(value) == _CID_BYTES and value[0] == 1 and value[2:4] == _RECORD_CID[2:]:
        return {"$link": libipld.encode_cid(value)}
    return {"$bytes": base64.b64encode(value).decode().rstrip("=")}
