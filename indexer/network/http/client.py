"""HTTP to URLs from outside: guarded against SSRF, limited in connections, bytes and time, no credentials.

A host is looked up here, its address checked and counted, and the connection goes to that address: neither
unusual spellings, nor redirects, nor DNS that changes its answer between two look-ups get past the guard. The
address is checked again when the socket is made.
"""

import errno
import socket
import ssl
import time
from abc import ABC, abstractmethod
from asyncio import Timeout
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import BinaryIO, Self

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.connector import AddrInfoType
from yarl import URL

from indexer.network.addresses import HostAddress, permitted_addresses
from indexer.network.http.exchange import (
    Answer,
    Answered,
    BodyDeadline,
    Forbidden,
    NoSuchHost,
    NotNow,
    OutboundError,
    Reply,
    TooLarge,
    Unreachable,
    body_of,
    exchange_within,
    pause_of,
    pieces_of,
)
from indexer.network.http.slots import SlotLimits, Slots
from indexer.network.ssrf import NotPermitted, check_url, is_public

# Users of a client import its errors and replies from here.
__all__ = [
    "Answered",
    "Client",
    "Forbidden",
    "NoSuchHost",
    "NotNow",
    "Outbound",
    "OutboundError",
    "Reply",
    "TooLarge",
    "Unreachable",
]

REDIRECTS = (301, 302, 303, 307, 308)
REASON_BYTES = 512
CONNECT_SECONDS = 4.0  # for one address, while another one is left to be tried
REMEMBERED_SECONDS = 10.0  # how long the addresses of a host are cached
MOST_REMEMBERED = 1_000

_PATIENT = aiohttp.ClientTimeout(total=None)
_RACE = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS)

Body = bytes | Path | None


class Client(ABC):
    """Fetches small documents and streams long ones, without credentials, cookies and compression."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    heard: Callable[[str | None, str | None], None] = staticmethod(lambda host, date: None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def fetch(
        self, url: str, max_bytes: int, timeout_seconds: float, *, whole: bool = True, redirects: int = 0
    ) -> bytes:
        """The body of a 200 answer; `whole=False`: only its first `max_bytes`. Raises OutboundError."""
        return await exchange_within(
            timeout_seconds,
            lambda _: self._follow(url, redirects, {}, lambda response: body_of(response, max_bytes, whole)),
        )

    async def stream(
        self,
        url: str,
        write: Callable[[bytes], object],
        max_bytes: int,
        timeout_seconds: float,
        longest_seconds: float,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Call `write` with each piece of a 200 answer's body. Raises OutboundError.

        The head must arrive within `timeout_seconds`, and the body begin within as long again and then keep
        SLOWEST_BYTES_PER_SECOND. However fast it is, it is given up after `longest_seconds`.
        """

        def paced(patience: Timeout) -> BodyDeadline:
            return BodyDeadline(patience, timeout_seconds, longest_seconds)

        await exchange_within(
            timeout_seconds,
            lambda patience: self._follow(
                url, 0, headers or {}, lambda response: pieces_of(response, write, max_bytes, paced(patience))
            ),
        )

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: Body,
        max_bytes: int,
        timeout_seconds: float,
    ) -> Reply:
        """Send one request; returns the whole answer of any status, redirects included. Raises OutboundError.

        For a body that is a Path, the file is read while it is sent.
        """

        async def exchange(_: Timeout) -> Reply:
            async with self._asking(method, url, headers, body) as response:
                self.heard(URL(url).host, response.headers.get("Date"))
                return Reply(
                    response.status, response.headers, await body_of(response, max_bytes, whole=True)
                )

        return await exchange_within(timeout_seconds, exchange)

    async def _follow(
        self,
        url: str,
        redirects: int,
        headers: Mapping[str, str],
        read: Callable[[aiohttp.ClientResponse], Awaitable[Answer]],
    ) -> Answer:
        for _ in range(redirects + 1):
            async with self._asking("GET", url, headers) as response:
                self.heard(URL(url).host, response.headers.get("Date"))
                if response.status == 200:
                    return await read(response)
                if response.status not in REDIRECTS or "location" not in response.headers:
                    reason = await response.content.read(REASON_BYTES)
                    raise Answered(response.status, reason, pause_of(response))
                url = str(URL(url).join(URL(response.headers["location"])))
        raise Forbidden("a redirect too many")

    @abstractmethod
    def _asking(
        self, method: str, url: str, headers: Mapping[str, str], body: Body = None
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Send one request; yields before the body is read. Raises Forbidden, Full and aiohttp's errors."""


class Outbound(Client):
    """The client for URLs from outside. Each instance has connections and limits of its own."""

    def __init__(
        self,
        resolver: AbstractResolver,
        *,
        allow_loopback: bool = False,
        limits: SlotLimits | None = None,
        tls: ssl.SSLContext | bool = True,
    ) -> None:
        connector = aiohttp.TCPConnector(limit=0, socket_factory=self._guarded_socket, ssl=tls)
        super().__init__(session_over(connector))
        self._allow_loopback = allow_loopback
        self._resolver = resolver
        self._lanes = Slots(limits or SlotLimits())
        self._known: OrderedDict[tuple[str, int], tuple[float, list[HostAddress]]] = OrderedDict()

    def check(self, url: str) -> None:
        """Raise Forbidden where the URL itself shows that it may not be requested. Looks nothing up."""
        self._permitted(url)

    @asynccontextmanager
    async def _asking(
        self, method: str, url: str, headers: Mapping[str, str], body: Body = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send one request to an address that was looked up, checked and counted here."""
        parsed = self._permitted(url)
        async with AsyncExitStack() as lanes:
            await lanes.enter_async_context(self._lanes.to_name(parsed))
            places = await self._places(parsed)
            for left, place in reversed(list(enumerate(reversed(places)))):
                async with self._lanes.to_address(place.address):
                    asking = self._session.request(
                        method,
                        parsed.with_host(place.address).with_port(place.port),
                        headers={**headers, "Host": parsed.host_port_subcomponent or ""},
                        server_hostname=parsed.raw_host,
                        data=open_body(body),
                        allow_redirects=False,
                        timeout=_RACE if left else _PATIENT,
                    )
                    try:
                        response = await asking
                    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
                        if not left:
                            raise
                        continue
                    async with response:
                        yield response
                    return

    def _permitted(self, url: str) -> URL:
        try:
            return check_url(url, allow_loopback=self._allow_loopback)
        except NotPermitted as reason:
            raise Forbidden(str(reason)) from None

    async def _places(self, url: URL) -> list[HostAddress]:
        """The host's permitted addresses. Raises Forbidden and socket.gaierror."""
        host, port = url.raw_host or "", url.port or 0
        until, places = self._known.get((host, port), (0.0, []))
        if until < time.monotonic():
            try:
                places = await permitted_addresses(self._resolver, host, port, self._may_visit)
            except NotPermitted as reason:
                raise Forbidden(str(reason)) from None
            self._known[host, port] = time.monotonic() + REMEMBERED_SECONDS, places
            while len(self._known) > MOST_REMEMBERED:
                self._known.popitem(last=False)
        return places

    def _may_visit(self, address: str) -> bool:
        return is_public(address, allow_loopback=self._allow_loopback)

    def _guarded_socket(self, target: AddrInfoType) -> socket.socket:
        """A socket to an address, if that may be visited. Raises PermissionError."""
        family, kind, protocol, _, address = target
        if not self._may_visit(str(address[0])):
            raise PermissionError(errno.EACCES, "not a public address")
        return socket.socket(family, kind, protocol)


def session_over(connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
    """A session that adds no cookies, no compression and no proxy to a request."""
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        # A compressed answer could be larger than it looks.
        headers={"accept-encoding": "identity", "user-agent": "fmsvc"},
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None),
        trust_env=False,
    )


def open_body(body: Body) -> bytes | BinaryIO | None:
    """Open a body that is a file, as aiohttp sends it."""
    return body.open("rb") if isinstance(body, Path) else body
