"""Verifies Space credentials: signed tokens for one Space, bound to a key of this service. Pure."""

from datetime import UTC, datetime, timedelta

import libipld
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey
from pydantic import BaseModel, ValidationError

from schemas.spaces import Space

LONGEST = timedelta(days=1)  # that a credential is used, whatever expiry it states
_TYPE = "atproto-space-credential+jwt"
_CURVES: dict[bytes, tuple[str, ec.EllipticCurve]] = {
    b"\xe7\x01": ("ES256K", ec.SECP256K1()),
    b"\x80\x24": ("ES256", ec.SECP256R1()),
}


class InvalidCredential(ValueError):
    """The credential is invalid; the message says why in a few words."""


class _Bound(BaseModel):
    jkt: str


class _Claims(BaseModel, strict=True):
    iss: str
    sub: str
    exp: int
    cnf: _Bound


def verify_credential(token: str, space: Space, thumbprint: str, multikey: str, now: datetime) -> datetime:
    """Verify a credential for this Space and the key with this thumbprint; returns its expiry. Raises Unfit.

    `multikey`: the public key of the Space's authority.
    """
    try:
        algorithm, key = _key(multikey)
        decoded = jwt.decode(token, key, algorithms=[algorithm])
        claims = _Claims.model_validate(decoded.claims)
        until = datetime.fromtimestamp(claims.exp, UTC)
    except (JoseError, ValidationError, ValueError, OverflowError, OSError) as error:
        raise InvalidCredential("not signed by the Space, or no credential") from error
    if decoded.header.get("typ") != _TYPE:
        raise InvalidCredential("another kind of token")
    if (claims.iss, claims.sub) != (space.authority, str(space)):
        raise InvalidCredential("for another Space")
    if claims.cnf.jkt != thumbprint:
        raise InvalidCredential("bound to another key")
    if until <= now:
        raise InvalidCredential("out of date")
    return min(until, now + LONGEST)


def _key(multikey: str) -> tuple[str, ECKey]:
    """The algorithm and the key that a Multikey stands for. Raises ValueError."""
    _, written = libipld.decode_multibase(multikey)
    if written[:2] not in _CURVES:
        raise ValueError("a curve that atproto does not use")
    algorithm, curve = _CURVES[written[:2]]
    point = ec.EllipticCurvePublicKey.from_encoded_point(curve, written[2:])
    return algorithm, ECKey.import_key(point.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
