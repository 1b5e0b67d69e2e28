"""CAR v1 bytes -> raw blocks, each compared with its CID. Pure.

Format: https://ipld.io/specs/transport/car/carv1/. Written here because the libraries that read CARs either
decode the blocks and drop the bytes that hashes are taken of, or never compare the hashes.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, TypeGuard

import libipld

MAX_BYTES = 2_000_000  # the protocol's limit for the blocks of one commit
MAX_BLOCKS = 20_000
MAX_HEADER_BYTES = 1_024

_DAG_CBOR = b"\x01\x71\x12\x20"  # CIDv1, codec, SHA-256, 32 bytes
_RAW = b"\x01\x55\x12\x20"
_CID_FORMS = (_DAG_CBOR, _RAW)
CID_BYTES = 36
_VARINT_BITS = 35  # more would be a length above 32 GB


class CarError(ValueError):
    """The bytes are not a CAR that we accept; the message says why in a few words."""


@dataclass(frozen=True, slots=True)
class Car:
    """Blocks by the bytes of their CIDs; the hash of every block matches its CID."""

    roots: tuple[bytes, ...]
    blocks: dict[bytes, bytes]


def read_car(car: bytes, max_bytes: int = MAX_BYTES, max_blocks: int = MAX_BLOCKS) -> Car:
    """Split a CAR and compare every block with its CID. Raises CarError."""
    roots, pairs = split_car(car, max_bytes, max_blocks)
    blocks: dict[bytes, bytes] = {}
    for cid, block in pairs:
        if not matches_cid(cid, block):
            raise CarError("a block does not match its CID")
        blocks[cid] = block
    return Car(roots, blocks)


def split_car(
    car: bytes, max_bytes: int = MAX_BYTES, max_blocks: int = MAX_BLOCKS
) -> tuple[tuple[bytes, ...], list[tuple[bytes, bytes]]]:
    """Split a CAR into roots and (CID, block) pairs in file order, hashes not compared. Raises CarError."""
    if len(car) > max_bytes:
        raise CarError("the CAR is too large")
    header_bytes, start = _varint(car, 0)
    if header_bytes > MAX_HEADER_BYTES:
        raise CarError("the CAR header is too long")
    if start + header_bytes > len(car):
        raise CarError("the CAR is truncated")
    roots = _roots(car[start : start + header_bytes])
    return roots, _sections(car, start + header_bytes, max_blocks)


def roots_in(file: IO[bytes]) -> tuple[bytes, ...]:
    """Read the roots of a CAR too large for memory; leaves the file at its first block. Raises CarError."""
    header_bytes = _length_in(file)
    if header_bytes is None:
        raise CarError("the CAR is truncated")
    if header_bytes > MAX_HEADER_BYTES:
        raise CarError("the CAR header is too long")
    return _roots(_taken(file, header_bytes))


def sections_in(file: IO[bytes], max_blocks: int) -> Iterator[bytes]:
    """Yield each CID followed by its block, from the file's position on; compares hashes. Raises CarError."""
    count = 0
    while (length := _length_in(file)) is not None:
        count += 1
        if length > MAX_BYTES:
            raise CarError("a block is too large")
        if count > max_blocks:
            raise CarError("the CAR has too many blocks")
        section = _taken(file, length)
        if not section.startswith(_CID_FORMS):
            raise CarError("a block's CID is not CIDv1 with SHA-256")
        if hashlib.sha256(section[CID_BYTES:]).digest() != section[4:CID_BYTES]:
            raise CarError("a block does not match its CID")
        yield section


def matches_cid(cid: bytes, block: bytes) -> bool:
    """True when the block hashes to what the CID says."""
    return hashlib.sha256(block).digest() == cid[4:]


def cid_of(block: bytes) -> bytes:
    """The bytes of a DAG-CBOR block's CID."""
    return _DAG_CBOR + hashlib.sha256(block).digest()


def is_cid(value: object) -> TypeGuard[bytes]:
    """True for the bytes of a DAG-CBOR block's CID in the only form that atproto allows."""
    return type(value) is bytes and len(value) == CID_BYTES and value.startswith(_DAG_CBOR)


def write_car(roots: Iterable[bytes], blocks: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Write a CAR of these (CID, block) pairs, in this order."""
    # In DAG-CBOR a link is tag 42 around the CID with a zero byte before it; libipld makes that of CID bytes.
    header = libipld.encode_dag_cbor({"roots": list(roots), "version": 1})
    parts = [_as_varint(len(header)), header]
    for cid, block in blocks:
        parts += (_as_varint(len(cid) + len(block)), cid, block)
    return b"".join(parts)


def _roots(header: bytes) -> tuple[bytes, ...]:
    try:
        fields = libipld.decode_dag_cbor(header)
    except (ValueError, RecursionError) as error:
        raise CarError("the CAR header is not DAG-CBOR") from error
    if not isinstance(fields, dict) or fields.get("version") != 1:
        raise CarError("the CAR is not version 1")
    roots = fields.get("roots")
    if not isinstance(roots, list) or not all(is_cid(root) for root in roots):
        raise CarError("the CAR's roots are not CIDs")
    return tuple(roots)


def _sections(car: bytes, at: int, max_blocks: int) -> list[tuple[bytes, bytes]]:
    pairs: list[tuple[bytes, bytes]] = []
    end = len(car)
    while at < end:
        length, at = _varint(car, at)
        block_at, following = at + CID_BYTES, at + length
        if following > end:
            raise CarError("the CAR is truncated")
        cid = car[at:block_at]
        if length < CID_BYTES or not cid.startswith(_CID_FORMS):
            raise CarError("a block's CID is not CIDv1 with SHA-256")
        if len(pairs) == max_blocks:
            raise CarError("the CAR has too many blocks")
        pairs.append((cid, car[block_at:following]))
        at = following
    return pairs


def _varint(car: bytes, at: int) -> tuple[int, int]:
    """Read an unsigned LEB128 number; returns it and the position after it."""
    value = shift = 0
    try:
        while shift < _VARINT_BITS:
            byte = car[at]
            at += 1
            if byte < 0x80:
                return value | byte << shift, at
            value |= (byte & 0x7F) << shift
            shift += 7
    except IndexError:
        raise CarError("the CAR is truncated") from None
    raise CarError("a length in the CAR is absurd")


def _length_in(file: IO[bytes]) -> int | None:
    """Read an unsigned LEB128 number at the file's position; None at the end of the file."""
    value = shift = 0
    while shift < _VARINT_BITS:
        byte = file.read(1)
        if not byte:
            if shift:
                raise CarError("the CAR is truncated")
            return None
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value
        shift += 7
    raise CarError("a length in the CAR is absurd")


def _taken(file: IO[bytes], count: int) -> bytes:
    found = file.read(count)
    if len(found) < count:
        raise CarError("the CAR is truncated")
    return found


def _as_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
