"""Bytes from outside, for people to read: in the words of their format, or as hex. Pure."""

from collections.abc import Iterator
from typing import Any, Final

import libipld
import orjson

from indexer import car

MAX_BYTES_SHOWN: Final = 64
ROW: Final = 16


def explain(raw: bytes) -> str:
    """JSON as it is, DAG-CBOR as JSON with bytes and CIDs marked, anything else as hex."""
    try:
        parts = [orjson.loads(raw)] if raw.startswith(b"{") else libipld.decode_dag_cbor_multi(raw)
        return "\n".join(
            orjson.dumps(_plain(part), option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode()
            for part in parts
        )
    except (ValueError, TypeError, RecursionError):
        return "\n".join(_hex(raw))


def _plain(value: Any) -> Any:
    match value:
        case bytes():
            return _marked(value)
        case dict():
            return {name: _plain(item) for name, item in value.items()}
        case list():
            return [_plain(item) for item in value]
    return value


def _marked(value: bytes) -> str:
    if car.is_cid(value) or (len(value) == car.CID_BYTES and value.startswith(b"\x01\x55\x12\x20")):
        return f"cid({libipld.encode_multibase('b', value)})"
    shown = value[:MAX_BYTES_SHOWN].hex()
    return f"h'{shown}'" if len(value) <= MAX_BYTES_SHOWN else f"h'{shown}…' of {len(value):,} bytes"


def _hex(raw: bytes) -> Iterator[str]:
    for at in range(0, len(raw), ROW):
        row = raw[at : at + ROW]
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
        yield f"{at:08x}  {row.hex(' '):<{3 * ROW}} {text}"
