"""Strict DAG-CBOR: decodes a block and refuses every encoding but the canonical one. Pure.

https://ipld.io/specs/codecs/dag-cbor/spec/#strictness. libipld enforces all of it but two rules: it accepts
numbers and lengths that are encoded longer than needed, and links with bytes after their CID.
"""

import re
from typing import Any, Final

import libipld

_UNUSUAL_LINK: Final = re.compile(rb"\xd8\x2a(?!\x58\x25\x00)")  # not of a CID with 36 bytes


class CborError(ValueError):
    """The bytes are not canonical DAG-CBOR; the message says why in a few words."""


def decode_block(block: bytes) -> Any:
    """Decode a block. Links become the bytes of their CIDs. Raises CborError."""
    try:
        value = libipld.decode_dag_cbor(block)
        # Writing it again is cheaper than looking at every head, but makes links of bytes that look like one.
        if libipld.encode_dag_cbor(value) == block or _is_short(block):
            if _UNUSUAL_LINK.search(block) and not _are_links_whole(block):
                raise CborError("has a link that is longer than its CID")
            return value
    except RecursionError as error:
        raise CborError("is nested too deep") from error
    except CborError:
        raise
    except ValueError as error:
        raise CborError("is not DAG-CBOR") from error
    raise CborError("is not canonical DAG-CBOR")


def _are_links_whole(block: bytes) -> bool:
    """True when no link of well-formed DAG-CBOR has bytes after its CID. Strings may look like links."""
    at, is_link = 0, False
    while at < len(block):
        kind, low = block[at] >> 5, block[at] & 31
        at += 1
        size = 1 << low - 24 if low >= 24 else 0
        argument = int.from_bytes(block[at : at + size], "big") if size else low
        at += size
        if is_link and _cid_length(block[at + 1 : at + argument]) != argument - 1:
            return False
        is_link = kind == 6
        if kind in (2, 3):
            at += argument
    return True


def _cid_length(cid: bytes) -> int:
    """The length of the CID at the start of these bytes: version, codec, hash, hash length, digest."""
    if cid.startswith(b"\x12\x20"):
        return 34  # version 0: the hash alone
    at = 0
    for _ in range(3):
        while at < len(cid) and cid[at] & 0x80:
            at += 1
        at += 1
    return at + 1 + cid[at] if at < len(cid) else -1


def _is_short(block: bytes) -> bool:
    """True when every item head of well-formed DAG-CBOR has the shortest encoding."""
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
