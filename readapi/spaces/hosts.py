"""Requests to servers that host Spaces, with DPoP: throttled per host, with small and untrusted answers."""

from collections.abc import Mapping
from urllib.parse import urlencode

import orjson
from pydantic import BaseModel, ValidationError

from readapi.answers import JSON
from readapi.errors import PdsUnavailable
from readapi.oauth.dpop import Dpop
from readapi.oauth.errors import Unavailable
from readapi.oauth.network import Known, Network, Response
from readapi.oauth.throttle import KeyedSlots
from schemas.ids import Did

ANSWER_BYTES = 1 << 20
ANSWER_SECONDS = 10.0
LATER = "The private Space's server is unavailable; try again later."


class HostRefusal(BaseModel):
    """The body of an answer other than 200, as far as it is used."""

    error: str = ""

    @classmethod
    def of(cls, response: Response) -> "HostRefusal":
        try:
            return cls.model_validate_json(response.body)
        except ValidationError:
            return cls()


class SpaceHosts:
    """All methods raise PdsUnavailable. A response that they return is 200 or a refusal."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._dpop = Dpop(network)
        self._turns = KeyedSlots()

    async def of(self, did: Did, *, anew: bool = False) -> Known:
        """The servers and keys of an account; `anew`: resolved again unless that was done a moment ago."""
        try:
            return await self._network.resolve(did, anew=anew)
        except Unavailable as error:
            raise PdsUnavailable(LATER) from error

    async def exchange(self, host: str, key: str, token: str, space: str) -> Response:
        """Exchange a delegation token for a credential that is bound to our key, at the Space's host."""
        url = f"{host}/xrpc/com.atproto.space.getSpaceCredential"
        headers = {"Authorization": f"Bearer {token}", "Content-Type": JSON}
        return await self._send("POST", host, url, key, headers, None, orjson.dumps({"space": space}))

    async def get(
        self, host: str, method: str, asked: Mapping[str, str], key: str, credential: str
    ) -> Response:
        """Send a query to a host, with a Space credential."""
        url = f"{host}/xrpc/{method}?{urlencode(asked)}"
        headers = {"Authorization": f"DPoP {credential}"}
        return await self._send("GET", host, url, key, headers, credential, None)

    def headers(self, url: str, key: str, credential: str) -> dict[str, str]:
        """The headers of a request that the caller sends itself, as for a blob larger than ANSWER_BYTES."""
        return self._dpop.headers(key, "GET", url, credential)

    async def _send(
        self,
        verb: str,
        host: str,
        url: str,
        key: str,
        headers: Mapping[str, str],
        credential: str | None,
        body: bytes | None,
    ) -> Response:
        try:
            async with self._turns.at(host):
                response = await self._dpop.send(
                    key,
                    verb,
                    url,
                    headers=headers,
                    body=lambda: body,
                    max_bytes=ANSWER_BYTES,
                    timeout_seconds=ANSWER_SECONDS,
                    access_token=credential,
                )
        except Unavailable as error:
            raise PdsUnavailable(LATER) from error
        if response.status == 429 or response.status >= 500:
            raise PdsUnavailable(LATER)
        return response
