"""Signing keys: parses the Multikeys of DID documents, and verifies signatures. Pure.

Both curves of atproto: https://atproto.com/specs/cryptography. k256 goes to libsecp256k1, which takes a tenth
of OpenSSL's time for it, p256 to OpenSSL. Parsed keys are kept: parsing costs about as much as verifying.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import coincurve
import libipld
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

Curve = Literal["k256", "p256"]

SIGNATURE_BYTES: Final = 64
_KEPT: Final = 65_536
_POINT_BYTES: Final = 33  # a point on the curve, compressed
_CODECS: Final[dict[bytes, Curve]] = {b"\xe7\x01": "k256", b"\x80\x24": "p256"}
_HALF_ORDERS: Final[dict[Curve, int]] = {
    "k256": 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141 // 2,
    "p256": 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551 // 2,
}
_P256_SHA256: Final = ec.ECDSA(hashes.SHA256())

_Check = Callable[[bytes, bytes], bool]  # a signature in DER, a message


class KeyFault(ValueError):
    """The text is not a usable key; the message says why in a few words."""


@dataclass(frozen=True, slots=True)
class Key:
    """A public key. Keys are equal when their multibase texts are."""

    multibase: str
    curve: Curve
    _check: _Check

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """True for a signature of this message in the only form that atproto allows: compact and low-S."""
        if len(signature) != SIGNATURE_BYTES:
            return False
        r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
        if s > _HALF_ORDERS[self.curve]:
            return False
        return self._check(encode_dss_signature(r, s), message)


@functools.lru_cache(_KEPT)
def parse_key(multibase: str) -> Key:
    """Read a Multikey: base58 of a curve's code and a compressed point. Raises KeyFault."""
    if not multibase.startswith("z"):
        raise KeyFault("the key is not in base58")
    try:
        _, written = libipld.decode_multibase(multibase)
    except ValueError as error:
        raise KeyFault("the key is not in base58") from error
    curve, point = _CODECS.get(written[:2]), written[2:]
    if curve is None:
        raise KeyFault("the key is of a curve that atproto does not use")
    if len(point) != _POINT_BYTES:
        raise KeyFault("the key is not a compressed point")
    try:
        return Key(multibase, curve, _k256(point) if curve == "k256" else _p256(point))
    except ValueError as error:
        raise KeyFault("the key is not a point of its curve") from error


def _k256(point: bytes) -> _Check:
    return coincurve.PublicKey(point).verify


def _p256(point: bytes) -> _Check:
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)

    def check(signature: bytes, message: bytes) -> bool:
        try:
            key.verify(signature, message, _P256_SHA256)
        except InvalidSignature:
            return False
        return True

    return check
