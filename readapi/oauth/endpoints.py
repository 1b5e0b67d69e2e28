"""An authorization server's endpoints for PAR, tokens and revocation: forms with client authentication."""

from collections.abc import Mapping
from urllib.parse import urlencode

from readapi.oauth import responses
from readapi.oauth.dpop import Dpop
from readapi.oauth.errors import OAuthRefused
from readapi.oauth.grant import Grant, PendingAuthorization
from readapi.oauth.metadata import ClientMetadata
from readapi.oauth.network import Response
from readapi.oauth.responses import Granted, Pushed

ANSWER_BYTES = 64 << 10
ANSWER_SECONDS = 10.0
_FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}


class Endpoints:
    """Requests for an authorization or a grant, with the keys that it began with. Raises OAuthError."""

    def __init__(self, client: ClientMetadata, dpop: Dpop) -> None:
        self._client = client
        self._dpop = dpop

    async def push(self, pending: PendingAuthorization, form: Mapping[str, str]) -> str:
        """Push an authorization request (RFC 9126); returns its `request_uri`."""
        response = await self._post(pending, pending.server.par_endpoint, form)
        return responses.read_answer(Pushed, response).request_uri

    async def tokens(
        self, holder: PendingAuthorization | Grant, form: Mapping[str, str], timeout_seconds: float
    ) -> Granted:
        """Exchange a code or a refresh token, which is used up even if no answer arrives in time."""
        url = holder.server.token_endpoint
        return responses.read_answer(Granted, await self._post(holder, url, form, timeout_seconds))

    async def revoke(self, holder: PendingAuthorization | Grant, token: str) -> None:
        """Revoke a token and all that were issued with it; some servers have no such endpoint."""
        if holder.server.revocation_endpoint is not None:
            response = await self._post(holder, holder.server.revocation_endpoint, {"token": token})
            if response.status != 200:
                raise responses.read_refusal(response)

    async def _post(
        self,
        holder: PendingAuthorization | Grant,
        url: str,
        form: Mapping[str, str],
        timeout_seconds: float = ANSWER_SECONDS,
    ) -> Response:
        key, issuer = holder.client_key, holder.server.issuer
        if key not in self._client.key_names:
            raise OAuthRefused(responses.DEAD, "The key of this authorization no longer exists.")
        return await self._dpop.send(
            holder.dpop_key,
            "POST",
            url,
            headers=_FORM,
            body=lambda: urlencode({**form, **self._client.authentication(key, issuer)}).encode(),
            max_bytes=ANSWER_BYTES,
            timeout_seconds=timeout_seconds,
        )
