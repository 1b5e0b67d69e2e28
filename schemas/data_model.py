"""Records as atproto's JSON writes them -> values as DAG-CBOR decodes to. Pure.

https://atproto.com/specs/data-model: `{"$link": …}` is a CID, `{"$bytes": …}` bytes; numbers are integers.
"""

import base64
from typing import Any

import libipld


class DataModelError(ValueError):
    """The JSON says something that no record can; the message says what."""


def read(record: object) -> dict[str, Any]:
    """The record. Raises DataModelError, and RecursionError for one that is nested too deep."""
    if type(record) is not dict:
        raise DataModelError("the record is not a map")
    value = _value(record)
    if type(value) is not dict:
        raise DataModelError("the record is not a map")
    return value


def link(text: object) -> bytes:
    """The bytes of a CID. Raises DataModelError."""
    if type(text) is not str:
        raise DataModelError("a CID is not text")
    try:
        _, cid = libipld.decode_multibase(text)
        libipld.decode_cid(cid)
    except ValueError as error:
        raise DataModelError("a CID is malformed") from error
    return bytes(cid)


def decoded(text: object) -> bytes:
    """Bytes that are written in base64. Raises DataModelError."""
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
        return link(fields["$link"]) if "$link" in fields else decoded(fields["$bytes"])
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
