"""Requests with DPoP proofs of possession: https://www.rfc-editor.org/rfc/rfc9449"""

import base64
import hashlib
import re
import time
from collections.abc import Callable, Mapping
from secrets import token_urlsafe
from typing import Any

from yarl import URL

from readapi.oauth import keys, responses
from readapi.oauth.network import Body, Network, Response
from schemas.recent import Recent

WANTS_NONCE = "use_dpop_nonce"
_ATTEMPTS = 2  # the second with the nonce that the server gave in its first answer
_KEPT = 10_000
_NONCE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,512}")


class Dpop:
    """Signs each request anew. The next nonce of each origin is kept."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._nonces: Recent[URL, str] = Recent(_KEPT)

    async def send(
        self,
        key: str,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: Callable[[], Body],
        max_bytes: int,
        timeout_seconds: float,
        access_token: str | None = None,
    ) -> Response:
        """Send a request, and again when the server demands a new nonce. Raises Unavailable.

        `body` is called for each attempt: it may contain an assertion that is good for one use only.
        """
        address = URL(url)
        for attempt in range(1, _ATTEMPTS + 1):
            nonce = self._nonces.find(address.origin())
            response = await self._network.send(
                method,
                url,
                headers={**headers, "DPoP": make_proof(key, method, address, nonce, access_token)},
                body=body(),
                max_bytes=max_bytes,
                timeout_seconds=timeout_seconds,
            )
            received = self._remember(address.origin(), response)
            if attempt == _ATTEMPTS or received in (None, nonce) or not _wants_nonce(response):
                break
        return response

    def headers(self, key: str, method: str, url: str, access_token: str) -> dict[str, str]:
        """The headers of a request with this token, for requests that are sent by other means."""
        address = URL(url)
        proven = make_proof(key, method, address, self._nonces.find(address.origin()), access_token)
        return {"Authorization": f"DPoP {access_token}", "DPoP": proven}

    def _remember(self, origin: URL, response: Response) -> str | None:
        received = response.headers.get("DPoP-Nonce")
        if received is None or not _NONCE.fullmatch(received):
            return None
        self._nonces.keep(origin, received)
        return received


def make_proof(key: str, method: str, address: URL, nonce: str | None, access_token: str | None) -> str:
    """The DPoP proof for one request."""
    signing = keys.read_private_key(key)
    claims: dict[str, Any] = {
        "jti": token_urlsafe(16),
        "htm": method,
        "htu": str(address.with_query(None).with_fragment(None)),
        "iat": int(time.time()),
    }
    if nonce is not None:
        claims["nonce"] = nonce
    if access_token is not None:
        claims["ath"] = hash_text(access_token)
    return keys.sign_jwt({"typ": "dpop+jwt", "jwk": keys.public_jwk(signing)}, claims, signing)


def hash_text(text: str) -> str:
    """SHA-256 in unpadded base64url, as OAuth writes it."""
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def _wants_nonce(response: Response) -> bool:
    if response.status == 401 and WANTS_NONCE in response.headers.get("WWW-Authenticate", ""):
        return True
    return response.status in (400, 401) and responses.read_error_code(response) == WANTS_NONCE
