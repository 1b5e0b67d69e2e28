"""Private keys: the service's, for client authentication, and each grant's, for DPoP."""

import json
import re
import time
from collections.abc import Mapping
from secrets import token_urlsafe
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey

ALGORITHM = "ES256"
_CURVE = "P-256"
_PUBLIC = ("kty", "crv", "x", "y")
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_ASSERTION_SECONDS = 60
_PEM = re.compile(r"-----BEGIN (?:EC )?PRIVATE KEY-----.+?-----END (?:EC )?PRIVATE KEY-----", re.DOTALL)


class Keys:
    """The service's client keys, the newest first; each is named by its thumbprint."""

    def __init__(self, *keys: ECKey) -> None:
        self._keys = {key.thumbprint(): key for key in keys}

    @classmethod
    def read(cls, text: str) -> "Keys":
        """Read keys from configuration: PEM, a JWK, a list of them or a JWKS. Raises ValueError."""
        given: list[Any] = _PEM.findall(text) or _jwks(text)
        return cls(*map(_import_key, given))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the keys, the newest first."""
        return tuple(self._keys)

    def published(self) -> dict[str, Any]:
        """The public JWKS, with which servers verify our signatures."""
        use = {"use": "sig", "alg": ALGORITHM}
        return {"keys": [{**public_jwk(key), "kid": name, **use} for name, key in self._keys.items()]}

    def authentication(self, name: str, client_id: str, issuer: str) -> dict[str, str]:
        """The form fields of a signed client assertion: https://www.rfc-editor.org/rfc/rfc7523"""
        now = int(time.time())
        parties = {"iss": client_id, "sub": client_id, "aud": issuer}
        claims = {**parties, "jti": token_urlsafe(16), "iat": now, "exp": now + _ASSERTION_SECONDS}
        return {
            "client_assertion_type": _ASSERTION,
            "client_assertion": sign_jwt({"kid": name}, claims, self._keys[name]),
        }


def generate_key() -> str:
    """A new private key, as a JWK in JSON."""
    return json.dumps(ECKey.generate_key(_CURVE).as_dict(private=True))


def read_private_key(text: str) -> ECKey:
    """Read a key that `generate_key` made."""
    return ECKey.import_key(json.loads(text))


def public_jwk(key: ECKey) -> dict[str, Any]:
    """The public JWK of a key."""
    return {name: key[name] for name in _PUBLIC}


def sign_jwt(header: Mapping[str, Any], claims: Mapping[str, Any], key: ECKey) -> str:
    """Sign a JWT."""
    return jwt.encode({"alg": ALGORITHM, **header}, dict(claims), key, algorithms=[ALGORITHM])


def _jwks(text: str) -> list[Any]:
    try:
        given = json.loads(text)
    except ValueError:
        raise ValueError("neither private keys in PEM nor JSON") from None
    if isinstance(given, dict):
        given = given.get("keys", [given])
    if not isinstance(given, list) or not given:
        raise ValueError("there is no key in it")
    return given


def _import_key(given: Any) -> ECKey:
    if isinstance(given, dict):
        # Members such as `use` and `key_ops` could stop the key from signing.
        given = {name: value for name, value in given.items() if name in (*_PUBLIC, "d")}
    try:
        key = ECKey.import_key(given)
    except (JoseError, ValueError, TypeError, KeyError):
        raise ValueError("not the key of an elliptic curve") from None
    if not key.is_private or key.curve_name != _CURVE:
        raise ValueError(f"not a private key on the curve {_CURVE}")
    return key
