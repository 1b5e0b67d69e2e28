"""Verifies a record's proof: CAR blocks, the path in the Merkle Search Tree, the commit's signature. Pure.

Formats: https://atproto.com/specs/repository and https://atproto.com/specs/cryptography.
"""

import hashlib
from typing import Any, Final

import libipld
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from fmsvc.errors import ProofError
from fmsvc.models import VerifiedRecord

_CID_START: Final = b"\x01\x71\x12\x20"  # CIDv1, DAG-CBOR, SHA-256
_CURVES: Final[dict[bytes, tuple[ec.EllipticCurve, int]]] = {
    b"\xe7\x01": (ec.SECP256K1(), 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141),
    b"\x80\x24": (ec.SECP256R1(), 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551),
}
_OLD_TYPES: Final = {  # their keys do not say the curve
    "EcdsaSecp256k1VerificationKey2019": b"\xe7\x01",
    "EcdsaSecp256r1VerificationKey2019": b"\x80\x24",
}
_MAX_STEPS: Final = 64


def verify_record(proof: bytes, uri: str, document: dict[str, Any]) -> VerifiedRecord:
    """The record at an at-uri, proved by a CAR and the account's DID document. Raises ProofError."""
    did, _, path = uri.removeprefix("at://").partition("/")
    if document.get("id") != did:
        raise ProofError("The DID document is another account's.")
    root, blocks = _read_car(proof)
    commit = _decode(blocks, root, "commit")
    if commit.get("did") != did or commit.get("version") != 3:
        raise ProofError("The commit is another account's, or of another version.")
    signature = commit.pop("sig", None)
    rev, tree = commit.get("rev"), commit.get("data")
    if not isinstance(signature, bytes) or not isinstance(rev, str) or not isinstance(tree, bytes):
        raise ProofError("The commit is malformed.")
    _check_signature(signing_key(document, did), signature, libipld.encode_dag_cbor(commit))
    cid = _find(blocks, tree, path.encode())
    record = _decode(blocks, cid, "record")
    return VerifiedRecord(uri=uri, did=did, cid=_text(cid), rev=rev, record=_shown(record))


def signing_key(document: dict[str, Any], did: str) -> bytes:
    """The key of a DID document's `#atproto`: its curve's code and a point. Raises ProofError."""
    methods = document.get("verificationMethod")
    for method in methods if isinstance(methods, list) else []:
        if isinstance(method, dict) and method.get("id") in ("#atproto", f"{did}#atproto"):
            key = method.get("publicKeyMultibase")
            if not isinstance(key, str) or not key.startswith("z"):
                break
            try:
                return _OLD_TYPES.get(str(method.get("type")), b"") + libipld.decode_multibase(key)[1]
            except ValueError:
                break
    raise ProofError("The DID document has no signing key.")


def _check_signature(written: bytes, signature: bytes, message: bytes) -> None:
    """Both curves of atproto; only compact, low-S signatures. Raises ProofError."""
    try:
        curve, order = _CURVES[written[:2]]
        key = ec.EllipticCurvePublicKey.from_encoded_point(curve, written[2:])
    except (KeyError, ValueError, UnsupportedAlgorithm):
        raise ProofError("The DID document's signing key is not usable.") from None
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    if len(signature) != 64 or s > order // 2:
        raise ProofError("The commit's signature is not in the form that atproto allows.")
    try:
        key.verify(encode_dss_signature(r, s), message, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        raise ProofError("The commit's signature is not the account's.") from None


def _read_car(car: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    """The one root and the blocks by CID, every hash checked. Raises ProofError."""
    size, at = _varint(car, 0)
    try:
        header = libipld.decode_dag_cbor(car[at : at + size])
        roots = header["roots"]
    except (ValueError, KeyError, TypeError):
        raise ProofError("The proof is no CAR.") from None
    if not isinstance(roots, list) or len(roots) != 1 or not isinstance(roots[0], bytes):
        raise ProofError("The proof is not of one commit.")
    blocks: dict[bytes, bytes] = {}
    at += size
    while at < len(car):
        size, at = _varint(car, at)
        cid, block = car[at : at + 36], car[at + 36 : at + size]
        if at + size > len(car) or cid[:4] != _CID_START or hashlib.sha256(block).digest() != cid[4:]:
            raise ProofError("A block of the proof does not match its hash.")
        blocks[cid] = block
        at += size
    return roots[0], blocks


def _varint(car: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 35, 7):
        if at >= len(car):
            break
        value |= (car[at] & 0x7F) << shift
        at += 1
        if car[at - 1] < 0x80:
            return value, at
    raise ProofError("The proof is truncated.")


def _decode(blocks: dict[bytes, bytes], cid: bytes, what: str) -> dict[str, Any]:
    try:
        found = libipld.decode_dag_cbor(blocks[cid])
    except (KeyError, ValueError, RecursionError):
        raise ProofError(f"The proof lacks a readable {what}.") from None
    if not isinstance(found, dict):
        raise ProofError(f"The {what} is no object.")
    return found


def _find(blocks: dict[bytes, bytes], root: bytes, wanted: bytes) -> bytes:
    """The CID that the tree holds for a key. Raises ProofError, also when there is none."""
    node: bytes | None = root
    for _ in range(_MAX_STEPS):
        if node is None:
            raise ProofError("The repo does not hold the record.")
        fields, key = _decode(blocks, node, "node of the tree"), b""
        node = _link(fields.get("l"))
        entries = fields.get("e")
        for entry in entries if isinstance(entries, list) else []:
            try:
                key = key[: entry["p"]] + entry["k"]
                value, right = entry["v"], _link(entry.get("t"))
            except (KeyError, TypeError, AttributeError):
                raise ProofError("A node of the tree is malformed.") from None
            if key == wanted and isinstance(value, bytes):
                return value
            if key > wanted:
                break
            node = right
    raise ProofError("The tree is too deep.")


def _link(value: object) -> bytes | None:
    return value if isinstance(value, bytes) else None


def _text(cid: bytes) -> str:
    return str(libipld.encode_multibase("b", cid))


def _shown(value: Any) -> Any:
    """As atproto's JSON writes it: links as `$link`, bytes as hexadecimal."""
    if isinstance(value, dict):
        return {key: _shown(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_shown(one) for one in value]
    if isinstance(value, bytes):
        is_cid = len(value) == 36 and value[:1] == b"\x01"
        return {"$link": _text(value)} if is_cid else {"$bytes": value.hex()}
    return value
