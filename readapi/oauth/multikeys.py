"""Public keys of DID documents, which verify tokens: https://atproto.com/specs/cryptography. Pure."""

import libipld
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc.jwk import ECKey

_CURVES: dict[bytes, tuple[str, ec.EllipticCurve]] = {
    b"\xe7\x01": ("ES256K", ec.SECP256K1()),
    b"\x80\x24": ("ES256", ec.SECP256R1()),
}


def read_multikey(multikey: str) -> tuple[str, ECKey]:
    """The algorithm and the key that a Multikey stands for. Raises ValueError."""
    _, written = libipld.decode_multibase(multikey)
    if written[:2] not in _CURVES:
        raise ValueError("a curve that atproto does not use")
    algorithm, curve = _CURVES[written[:2]]
    point = ec.EllipticCurvePublicKey.from_encoded_point(curve, written[2:])
    return algorithm, ECKey.import_key(point.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
