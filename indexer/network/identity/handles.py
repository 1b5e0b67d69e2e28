"""Handle -> DID: by DNS and HTTPS, or by a resolveHandle service. https://atproto.com/specs/handle"""

import socket
from urllib.parse import quote

import orjson

from indexer.network.http.client import Answered, Client, Outbound, OutboundError, Unreachable
from indexer.network.identity.dns import Dns
from schemas.ids import Handle, is_did, is_handle

ANSWER_BYTES = 4096
HTTPS_SECONDS = 8.0

_NEVER_RESOLVED = ("alt", "arpa", "example", "internal", "invalid", "local", "localhost", "onion")


class Handles:
    """Resolves handles. `service`: the origin of a resolveHandle service to use instead of DNS and HTTPS.

    `operators`: the client for the service, if it is in the operator's settings; else `outbound` is used.
    """

    def __init__(
        self,
        outbound: Outbound,
        dns: Dns,
        *,
        service: str | None = None,
        operators: Client | None = None,
        allow_test: bool = False,
    ) -> None:
        self._outbound = outbound
        self._dns = dns
        self._service = service
        self._operators = operators or outbound
        self._allow_test = allow_test

    async def find(self, handle: Handle) -> str | None:
        """The DID that the handle names, None: no DID. Raises OutboundError when no look-up was possible.

        A text that is no handle is looked up nowhere: it would choose the address that is asked.
        """
        if not is_handle(handle):
            return None
        domain = handle.rpartition(".")[2].lower()
        if domain in _NEVER_RESOLVED or (domain == "test" and not self._allow_test):
            return None
        unanswered: OutboundError | None = None
        for way in (self._by_service,) if self._service else (self._by_dns, self._by_https):
            try:
                found = await way(handle)
            except OutboundError as error:
                unanswered = error if error.transient else unanswered
            else:
                if found is not None and is_did(found):
                    return found
        if unanswered is not None:
            raise unanswered
        return None

    async def _by_service(self, handle: Handle) -> str | None:
        url = f"{self._service}/xrpc/com.atproto.identity.resolveHandle?handle={quote(handle)}"
        try:
            body = await self._operators.fetch(url, ANSWER_BYTES, HTTPS_SECONDS)
        except OutboundError as error:
            if isinstance(error, Answered) and error.status == 400:
                return None
            # A fault of the service says nothing about the handle.
            raise Unreachable(f"instead of the handle's DID, {error}") from error
        try:
            answer = orjson.loads(body)
        except ValueError:
            raise Unreachable("the handle resolver's answer is not JSON") from None
        named = answer.get("did") if isinstance(answer, dict) else None
        return named if isinstance(named, str) else None

    async def _by_dns(self, handle: Handle) -> str | None:
        try:
            texts = await self._dns.texts(f"_atproto.{handle}")
        except socket.gaierror as error:
            if error.errno == socket.EAI_NONAME:
                return None
            raise Unreachable(str(error)) from error
        named = {text.removeprefix("did=") for text in texts if text.startswith("did=")}
        # Two different DIDs cancel each other out.
        return named.pop() if len(named) == 1 else None

    async def _by_https(self, handle: Handle) -> str | None:
        url = f"https://{handle}/.well-known/atproto-did"
        body = await self._outbound.fetch(url, ANSWER_BYTES, HTTPS_SECONDS, redirects=2)
        return body.decode(errors="replace").strip() or None
