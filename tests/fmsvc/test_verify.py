"""A record's proof: held to the account's key on both curves, and refused when any part is another."""

import hashlib
from typing import Any

import libipld
import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from fmsvc.errors import ProofError
from fmsvc.verify import _CURVES, verify_record

DID = "did:plc:" + "a" * 24
URI = f"at://{DID}/fm.svc.track/a"


def block(value: Any) -> tuple[bytes, bytes]:
    data = libipld.encode_dag_cbor(value)
    return b"\x01\x71\x12\x20" + hashlib.sha256(data).digest(), data


def varint(size: int) -> bytes:
    return bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])


def made(code: bytes, *, high_s: bool = False, key: str = "fm.svc.track/a") -> tuple[bytes, dict[str, Any]]:
    """A CAR and the DID document for it."""
    curve, order = _CURVES[code]
    signer = ec.generate_private_key(curve)
    record = block({"title": "Song"})
    node = block({"l": None, "e": [{"p": 0, "k": key.encode(), "v": record[0], "t": None}]})
    commit = {"did": DID, "version": 3, "rev": "3aaaaaaaaaaaa", "data": node[0], "prev": None}
    signed = signer.sign(libipld.encode_dag_cbor(commit), ec.ECDSA(hashes.SHA256()))
    r, s = decode_dss_signature(signed)
    s = max(s, order - s) if high_s else min(s, order - s)
    head = block({**commit, "sig": r.to_bytes(32, "big") + s.to_bytes(32, "big")})
    header = libipld.encode_dag_cbor({"version": 1, "roots": [head[0]]})
    car = varint(len(header)) + header
    for cid, data in (head, node, record):
        car += varint(len(cid) + len(data)) + cid + data
    point = signer.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint
    )
    multibase = libipld.encode_multibase("z", code + point)
    method = {"id": f"{DID}#atproto", "type": "Multikey", "publicKeyMultibase": multibase}
    return car, {"id": DID, "verificationMethod": [method]}


@pytest.mark.parametrize("code", list(_CURVES))
def test_a_proof_holds_on_both_curves_with_low_s_alone(code: bytes):
    car, document = made(code)
    assert verify_record(car, URI, document).record == {"title": "Song"}

    with pytest.raises(ProofError, match="form"):
        verify_record(*[made(code, high_s=True)[0], URI, made(code)[1]])
    with pytest.raises(ProofError, match="not the account's"):
        verify_record(car, URI, made(code)[1])


def test_another_record_a_changed_byte_and_a_cut_are_refused():
    car, document = made(b"\xe7\x01")
    with pytest.raises(ProofError, match="does not hold"):
        verify_record(car, URI + "b", document)
    with pytest.raises(ProofError, match="hash"):
        verify_record(car[:-1] + b"X", URI, document)
    for length in range(0, len(car), 7):
        with pytest.raises(ProofError):
            verify_record(car[:length], URI, document)
