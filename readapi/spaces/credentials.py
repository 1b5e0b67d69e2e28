"""Verifies Space credentials: signed tokens for one Space, bound to a key of this service. Pure."""

from datetime import UTC, datetime, timedelta

from joserfc import jwt
from joserfc.errors import JoseError
from pydantic import BaseModel, ValidationError

from readapi.oauth.multikeys import read_multikey
from schemas.spaces import Space

LONGEST = timedelta(days=1)  # that a credential is used, whatever expiry it states
_TYPE = "atproto-space-credential+jwt"


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
        algorithm, key = read_multikey(multikey)
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
