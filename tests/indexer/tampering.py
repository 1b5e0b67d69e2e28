"""Frames of commits, changed behind their author's back or by the author's own hand."""

from collections.abc import Mapping
from typing import Any

import libipld
from cbrrr import CID, encode_dag_cbor

from indexer.repo import car
from indexer.repo.car import Car
from indexer.stream import envelope
from tests.network import forge
from tests.network.forge import SigningKey

Body = dict[str, Any]


def body_of(raw: bytes) -> Body:
    return envelope.unwrap_frame(raw)[1]


def rebuilt(body: Body, **changes: object) -> bytes:
    """The frame of a decoded commit with other fields; links are links again."""
    body = body | changes
    for field in ("commit", "prevData"):
        if body.get(field):
            body[field] = CID(body[field])
    body["ops"] = [
        {name: CID(value) if isinstance(value, bytes) else value for name, value in operation.items()}
        if isinstance(operation, dict)
        else operation
        for operation in body["ops"]
    ]
    return forge.frame("#commit", body)


def opened(raw: bytes) -> Car:
    return car.read_car(body_of(raw)["blocks"])


def with_blocks(raw: bytes, added: Mapping[bytes, bytes], without: frozenset[bytes] = frozenset()) -> bytes:
    """The same message with other blocks in its CAR, under whatever CIDs."""
    blocks = opened(raw)
    kept = {cid: block for cid, block in (blocks.blocks | added).items() if cid not in without}
    return rebuilt(body_of(raw), blocks=car.write_car(blocks.roots, kept.items()))


def with_commit(raw: bytes, key: SigningKey, **changes: object) -> bytes:
    """The same message around another commit object, signed. `sig` in the changes is taken as it stands."""
    blocks = opened(raw)
    fields = libipld.decode_dag_cbor(blocks.blocks[blocks.roots[0]]) | changes
    if isinstance(fields["data"], bytes):
        fields["data"] = CID(fields["data"])
    unsigned = {name: value for name, value in fields.items() if name != "sig"}
    signature = changes.get("sig", key.sign(encode_dag_cbor(unsigned)))
    return with_commit_block(raw, encode_dag_cbor(unsigned | {"sig": signature}))


def with_commit_block(raw: bytes, block: bytes) -> bytes:
    """The same message around these bytes in place of the commit object."""
    blocks = opened(raw)
    cid = car.cid_of(block)
    rest = {other: kept for other, kept in blocks.blocks.items() if other not in blocks.roots}
    return rebuilt(body_of(raw), commit=cid, blocks=car.write_car([cid], {cid: block, **rest}.items()))
