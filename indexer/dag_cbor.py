"""DAG-CBOR that is written in the one way it may be. Pure.

https://ipld.io/specs/codecs/dag-cbor/spec/#strictness. libipld holds to all of it but one thing: it takes
numbers and lengths that are written longer than needed.
"""

from typing import Any

import libipld


class CborError(ValueError):
    """The bytes are not canonical DAG-CBOR; the message says why in a few words."""


def decode(block: bytes) -> Any:
    """What the block says. Links are the bytes of their CIDs. Raises CborError."""
    try:
        value = libipld.decode_dag_cbor(block)
        # Writing it again is cheaper than looking at every head, but makes links of bytes that look like one.
        if libipld.encode_dag_cbor(value) == block or _is_short(block):
            return value
    except (ValueError, RecursionError) as error:
        raise CborError("is not DAG-CBOR") from error
    raise CborError("is not canonical DAG-CBOR")


def _is_short(block: bytes) -> bool:
    """True when each head of well-formed DAG-CBOR is as short as it can be."""
    at = 0
    while at < len(block):
        kind, low = block[at] >> 5, block[at] & 31
        at += 1
        size = 1 << low - 24 if low >= 24 else 0
        argument = int.from_bytes(block[at : at + size], "big") if size else low
        at += size
        if kind == 7:
            if size not in (0, 8):  # floats have 64 bits
                return False
        elif size and argument < (24 if size == 1 else 1 << 4 * size):
            return False
        elif kind in (2, 3):
            at += argument
    return True
