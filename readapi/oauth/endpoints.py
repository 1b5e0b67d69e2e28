"""What an authorization server is told and asked: forms that prove who sends them."""

from collections.abc import Mapping
from urllib.parse import urlencode

from readapi.oauth import answers
from readapi.oauth.answers import Granted, Pushed
from readapi.oauth.dpop import Dpop
from readapi.oauth.errors import Refused
from readapi.oauth.grant import Flight, Grant
from readapi.oauth.metadata import ClientMetadata
from readapi.oauth.network import Response

ANSWER_BYTES = 64 << 10
ANSWER_SECONDS = 10.0
_FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}


class Endpoints:
    """Speaks to the server of a flight or a grant, with the keys that it began with. Raises OAuthError."""

    def __init__(self, client: ClientMetadata, dpop: Dpop) -> None:
        self._client = client
        self._dpop = dpop

    async def push(self, flight: Flight, form: Mapping[str, str]) -> str:
        """Say what will be asked for; the answer names it."""
        response = await self._post(flight, flight.server.par_endpoint, form)
        return answers.read(Pushed, response).request_uri

    async def tokens(
        self, holder: Flight | Grant, form: Mapping[str, str], timeout_seconds: float
    ) -> Granted:
        """Exchange a code or a refresh token, which is spent even if no answer comes in time."""
        url = holder.server.token_endpoint
        return answers.read(Granted, await self._post(holder, url, form, timeout_seconds))

    async def revoke(self, holder: Flight | Grant, token: str) -> None:
        """Let a token, and all that came with it, be good for nothing; some servers cannot."""
        if holder.server.revocation_endpoint is not None:
            response = await self._post(holder, holder.server.revocation_endpoint, {"token": token})
            if response.status != 200:
                raise answers.refusal(response)

    async def _post(
        self,
        holder: Flight | Grant,
        url: str,
        form: Mapping[str, str],
        timeout_seconds: float = ANSWER_SECONDS,
    ) -> Response:
        key, issuer = holder.client_key, holder.server.issuer
        if key not in self._client.key_names:
            raise Refused(answers.DEAD, "The key that this authorization began with is gone.")
        return await self._dpop.send(
            holder.dpop_key,
            "POST",
            url,
            headers=_FORM,
            body=lambda: urlencode({**form, **self._client.authentication(key, issuer)}).encode(),
            max_bytes=ANSWER_BYTES,
            timeout_seconds=timeout_seconds,
        )
