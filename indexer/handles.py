"""Handle -> the DID that it names: by DNS and by HTTPS, or by a service that does both for us."""

from urllib.parse import quote

import dns.asyncresolver
import dns.exception
import dns.name
import dns.resolver
import orjson

from indexer.outbound import Outbound, OutboundError, Unreachable
from schemas.ids import Handle

ANSWER_BYTES = 4096
HTTPS_SECONDS = 8.0
DNS_SECONDS = 4.0

_NEVER_RESOLVED = ("alt", "arpa", "example", "internal", "invalid", "local", "localhost", "onion")
_NO_RECORD = (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer, dns.name.LabelTooLong, dns.name.NameTooLong)


class Handles:
    """`service`: origin whose resolveHandle is asked instead of DNS and the handle's own host."""

    def __init__(
        self,
        outbound: Outbound,
        *,
        service: str | None = None,
        allow_test: bool = False,
        nameserver: dns.asyncresolver.Resolver | None = None,
    ) -> None:
        self._outbound = outbound
        self._service = service
        self._allow_test = allow_test
        self._nameserver = nameserver

    async def find(self, handle: Handle) -> str | None:
        """What the handle names, None: nobody. Raises OutboundError when that could not be asked."""
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
                if found is not None:
                    return found
        if unanswered is not None:
            raise unanswered
        return None

    async def _by_service(self, handle: Handle) -> str | None:
        url = f"{self._service}/xrpc/com.atproto.identity.resolveHandle?handle={quote(handle)}"
        body = await self._outbound.fetch(url, ANSWER_BYTES, HTTPS_SECONDS)
        try:
            answer = orjson.loads(body)
        except ValueError:
            raise Unreachable("the handle resolver's answer is not JSON") from None
        named = answer.get("did") if isinstance(answer, dict) else None
        return named if isinstance(named, str) else None

    async def _by_dns(self, handle: Handle) -> str | None:
        try:
            # Made late, because a machine without any name server can still serve what it has.
            nameserver = self._nameserver = self._nameserver or dns.asyncresolver.Resolver()
            answer = await nameserver.resolve(f"_atproto.{handle}", "TXT", lifetime=DNS_SECONDS, search=False)
        except _NO_RECORD:
            return None
        except (dns.exception.DNSException, OSError) as error:
            raise Unreachable(f"DNS does not answer ({type(error).__name__})") from error
        texts = {b"".join(record.strings).decode(errors="replace") for record in answer}
        named = {text.removeprefix("did=") for text in texts if text.startswith("did=")}
        # Two different DIDs cancel each other out.
        return named.pop() if len(named) == 1 else None

    async def _by_https(self, handle: Handle) -> str | None:
        url = f"https://{handle}/.well-known/atproto-did"
        body = await self._outbound.fetch(url, ANSWER_BYTES, HTTPS_SECONDS, redirects=2)
        return body.decode(errors="replace").strip() or None
