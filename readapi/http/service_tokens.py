"""Service tokens: a PDS vouches for an account that sends one query through it.

The form: https://atproto.com/specs/xrpc#inter-service-authentication-jwt
"""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from joserfc import jws
from joserfc.errors import JoseError
from pydantic import BaseModel, Field, ValidationError

from readapi.errors import NotAuthenticated, PdsDown
from readapi.http.eager import in_task
from readapi.http.limits.rate_limits import Limiter, Spent
from readapi.oauth.errors import Unavailable
from readapi.oauth.multikeys import read_multikey
from readapi.oauth.network import Network
from readapi.state.sign_in.service_tokens import UsedServiceTokens
from schemas.ids import Did, is_did
from schemas.service_identity import SERVICE

LONGEST: Final = timedelta(hours=1)  # that a token may still be valid
SKEW: Final = timedelta(seconds=30)  # between the clock of a PDS and ours
RESOLVE_SECONDS: Final = 10.0
_MOST_CHARACTERS: Final = 4096
_LATER = "The identity behind the service token could not be resolved; try again later."


class _Claims(BaseModel, strict=True):
    iss: str
    aud: str
    lxm: str
    exp: int
    jti: str = Field(min_length=1, max_length=256)
    iat: int | None = None
    nbf: int | None = None


@dataclass(frozen=True, slots=True)
class ServiceToken:
    """A token whose claims are those of one method here. Its signature is yet to be verified."""

    text: str
    did: Did
    name: str
    until: datetime

    def is_signed_by(self, multikey: str | None) -> bool:
        """True for a signature by this key of a DID document, on either curve of atproto."""
        try:
            algorithm, key = read_multikey(multikey or "")
            jws.deserialize_compact(self.text, key, algorithms=[algorithm])
        except (JoseError, ValueError):
            return False
        return True


def read_token(text: str, audience: Did, method: str, now: datetime) -> ServiceToken:
    """Read a token for this service and method. Raises NotAuthenticated, with the reason."""
    if len(text) > _MOST_CHARACTERS:
        raise NotAuthenticated("The service token is too long.")
    try:
        token = jws.extract_compact(text.encode())
        claims = _Claims.model_validate_json(token.payload or b"")
        until = datetime.fromtimestamp(claims.exp, UTC)
        begins = datetime.fromtimestamp(max(claims.iat or 0, claims.nbf or 0), UTC)
    except (JoseError, ValidationError, ValueError, OverflowError, OSError):
        raise NotAuthenticated("The service token is malformed.") from None
    if str(token.headers().get("typ", "JWT")).upper() != "JWT":
        raise NotAuthenticated("The token is no service token.")
    if claims.aud not in (audience, audience + SERVICE):
        raise NotAuthenticated(f"The service token is not for {audience}.")
    if claims.lxm != method:
        raise NotAuthenticated("The service token is for another method.")
    if until <= now - SKEW:
        raise NotAuthenticated("The service token has expired.")
    if until > now + LONGEST + SKEW or begins > now + SKEW:
        raise NotAuthenticated("The service token is not valid yet, or for too long.")
    if not is_did(claims.iss):
        raise NotAuthenticated("The service token is not of an account.")
    return ServiceToken(text, Did(claims.iss), f"{claims.iss} {claims.jti}", until + SKEW)


class ServiceTokens:
    """Verifies service tokens with the key in their account's DID document. Each is accepted once.

    `limit` counts them by the address that sends them.
    """

    def __init__(self, audience: Did, network: Network, used: UsedServiceTokens, limit: Limiter) -> None:
        self._audience = audience
        self._network = network
        self._used = used
        self._limit = limit

    async def verify(self, text: str, method: str, client: str, now: datetime) -> Did:
        """The account that a token is of. Raises NotAuthenticated, Spent, and PdsDown for an unknown key."""
        allowance = self._limit.hit(client)
        if not allowance.allowed:
            raise Spent(allowance)
        token = read_token(text, self._audience, method, now)
        if not await self._is_signed(token):
            raise NotAuthenticated("The service token is not signed by its account.")
        if not await self._used.use(token.name, token.until):
            raise NotAuthenticated("The service token was used before.")
        return token.did

    async def _is_signed(self, token: ServiceToken) -> bool:
        """By the account's key; if it is not the one that we know, by its present one."""
        await in_task()
        try:
            async with asyncio.timeout(RESOLVE_SECONDS):
                known = await self._network.resolve(token.did)
                if token.is_signed_by(known.signing_key):
                    return True
                present = await self._network.resolve(token.did, anew=True)
        except (Unavailable, TimeoutError):
            raise PdsDown(_LATER) from None
        return present.signing_key != known.signing_key and token.is_signed_by(present.signing_key)
