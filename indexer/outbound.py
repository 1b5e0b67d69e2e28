"""HTTP to addresses that strangers chose: guarded against SSRF, capped, without credentials.

The guard sits where sockets are made: neither odd spellings of an address, nor redirects, nor DNS that
changes its answer between two look-ups can lead past it.
"""

import asyncio
import errno
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.connector import AddrInfoType
from yarl import URL

from indexer import retry_after
from indexer.addresses import NotPermitted, is_public, permitted

CONNECTIONS = 64
CONNECTIONS_PER_HOST = 4
CONNECTIONS_PER_TRUSTED_HOST = 16
CHUNK_BYTES = 64 << 10
REDIRECTS = (301, 302, 303, 307, 308)
REASON_BYTES = 512
SLOWEST_BYTES_PER_SECOND = 128 << 10

Answer = TypeVar("Answer")


class OutboundError(Exception):
    """Nothing usable came back; the message says why. `transient`: trying later may help."""

    transient = False


class Forbidden(OutboundError):
    """The address is one that we do not visit on a stranger's word."""


class NoSuchHost(OutboundError):
    """DNS says that the host does not exist."""


class TooLarge(OutboundError):
    """The answer is longer than it may be."""


class Unreachable(OutboundError):
    """No answer in time, or a broken connection."""

    transient = True


class Answered(OutboundError):
    """The server answered, but not with 200. `body` is the beginning of what it said.

    `retry_after`: the seconds that it asks us to stay away, if it does.
    """

    def __init__(self, status: int, body: bytes, retry_after: float | None = None) -> None:
        super().__init__(f"the server answered {status}")
        self.status = status
        self.body = body
        self.retry_after = retry_after
        self.transient = status in (408, 425, 429) or (status >= 500 and status != 501)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of any status."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Outbound:
    """Fetches small documents. Origins in `trusted` were chosen by the operator and are not guarded."""

    def __init__(
        self,
        resolver: AbstractResolver,
        *,
        allow_loopback: bool = False,
        trusted: Collection[str] = (),
        tls: ssl.SSLContext | bool = True,
    ) -> None:
        self._allow_loopback = allow_loopback
        self._trusted = frozenset(URL(url).origin() for url in trusted)
        self._guarded = _session(
            aiohttp.TCPConnector(
                limit=CONNECTIONS,
                limit_per_host=CONNECTIONS_PER_HOST,
                socket_factory=self._guarded_socket,
                resolver=resolver,
                ssl=tls,
            )
        )
        self._open = _session(
            aiohttp.TCPConnector(limit_per_host=CONNECTIONS_PER_TRUSTED_HOST, resolver=resolver)
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._guarded.close()
        await self._open.close()

    async def fetch(
        self, url: str, max_bytes: int, timeout_seconds: float, *, whole: bool = True, redirects: int = 0
    ) -> bytes:
        """The body of a 200 answer; `whole=False`: only its first `max_bytes`. Raises OutboundError."""
        return await self._ask(
            url, timeout_seconds, redirects, lambda response, _: _body(response, max_bytes, whole)
        )

    async def stream(
        self,
        url: str,
        write: Callable[[bytes], object],
        max_bytes: int,
        timeout_seconds: float,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Hand on the body of a 200 answer piece by piece. Raises OutboundError.

        Who sends faster than a trickle may take longer than `timeout_seconds`.
        """
        await self._ask(
            url,
            timeout_seconds,
            0,
            lambda response, patience: _pieces(response, write, max_bytes, patience),
            headers,
        )

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | Path | None,
        max_bytes: int,
        timeout_seconds: float,
    ) -> Reply:
        """One request and its whole answer, whatever its status, redirects included. Raises OutboundError.

        A body that is a Path is what is in the file, read as it is sent.
        """

        async def exchange(_: asyncio.Timeout) -> Reply:
            parsed = self._checked(url)
            asking = self._session_for(parsed).request(
                method,
                parsed,
                headers=headers,
                data=body.open("rb") if isinstance(body, Path) else body,
                allow_redirects=False,
            )
            async with asking as response:
                return Reply(response.status, response.headers, await _body(response, max_bytes, whole=True))

        return await _within(timeout_seconds, exchange)

    async def _ask(
        self,
        url: str,
        timeout_seconds: float,
        redirects: int,
        read: Callable[[aiohttp.ClientResponse, asyncio.Timeout], Awaitable[Answer]],
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        return await _within(
            timeout_seconds,
            lambda patience: self._follow(url, redirects, lambda response: read(response, patience), headers),
        )

    async def _follow(
        self,
        url: str,
        redirects: int,
        read: Callable[[aiohttp.ClientResponse], Awaitable[Answer]],
        headers: Mapping[str, str] | None,
    ) -> Answer:
        parsed = self._checked(url)
        session = self._session_for(parsed)
        for _ in range(redirects + 1):
            async with session.get(parsed, allow_redirects=False, headers=headers) as response:
                if response.status == 200:
                    return await read(response)
                if response.status not in REDIRECTS or "location" not in response.headers:
                    said = await response.content.read(REASON_BYTES)
                    raise Answered(response.status, said, _retry_after(response))
                # The operator's own origins are trusted when we ask there ourselves, not when we are sent.
                parsed = self._guarded_url(str(parsed.join(URL(response.headers["location"]))))
                session = self._guarded
        raise Forbidden("a redirect too many")

    def _checked(self, url: str) -> URL:
        parsed = URL(url)
        if parsed.absolute and parsed.origin() in self._trusted:
            return parsed
        return self._guarded_url(url)

    def _guarded_url(self, url: str) -> URL:
        try:
            return permitted(url, allow_loopback=self._allow_loopback)
        except NotPermitted as reason:
            raise Forbidden(str(reason)) from None

    def _session_for(self, url: URL) -> aiohttp.ClientSession:
        return self._open if url.origin() in self._trusted else self._guarded

    def _guarded_socket(self, target: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, address = target
        if not is_public(str(address[0]), allow_loopback=self._allow_loopback):
            raise PermissionError(errno.EACCES, "not a public address")
        return socket.socket(family, kind, protocol)


async def _within(timeout_seconds: float, exchange: Callable[[asyncio.Timeout], Awaitable[Answer]]) -> Answer:
    """What the exchange brings; all that goes wrong with it is an OutboundError."""
    try:
        async with asyncio.timeout(timeout_seconds) as patience:
            return await exchange(patience)
    except TimeoutError:
        raise Unreachable(f"no answer within {timeout_seconds:g} s") from None
    except aiohttp.ClientConnectorDNSError as error:
        missing = getattr(error.os_error, "errno", None) == socket.EAI_NONAME
        raise (NoSuchHost if missing else Unreachable)("the host's name does not resolve") from error
    except aiohttp.ClientConnectorError as error:
        if error.os_error.errno == errno.EACCES:
            raise Forbidden("not a public address") from error
        raise Unreachable("no connection") from error
    except aiohttp.ClientError as error:
        raise Unreachable(f"the connection broke ({type(error).__name__})") from error
    except ValueError as error:
        raise Forbidden("not an address that can be visited") from error


def _session(connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        # A compressed answer could be larger than it looks.
        headers={"accept-encoding": "identity", "user-agent": "fmsvc"},
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None),
        trust_env=False,
    )


async def _body(response: aiohttp.ClientResponse, max_bytes: int, whole: bool) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_chunked(CHUNK_BYTES):
        body += chunk
        if len(body) >= max_bytes and not whole:
            break
        if len(body) > max_bytes:
            raise TooLarge(f"longer than {max_bytes} bytes")
    return bytes(body[:max_bytes])


async def _pieces(
    response: aiohttp.ClientResponse,
    write: Callable[[bytes], object],
    max_bytes: int,
    patience: asyncio.Timeout,
) -> None:
    received, until = 0, patience.when() or 0.0
    async for chunk in response.content.iter_chunked(CHUNK_BYTES):
        received += len(chunk)
        if received > max_bytes:
            raise TooLarge(f"longer than {max_bytes} bytes")
        write(chunk)
        patience.reschedule(until + received / SLOWEST_BYTES_PER_SECOND)


def _retry_after(response: aiohttp.ClientResponse) -> float | None:
    """Seconds from now. Servers write a number, a date, or the RateLimit-Reset of older drafts."""
    if asked := response.headers.get("retry-after"):
        return retry_after.seconds(asked)
    if response.status != 429:
        return None  # A PDS tells it with every answer; nobody has to wait while something is left.
    try:
        reset = float(response.headers.get("ratelimit-reset", ""))
    except ValueError:
        return None
    # An instant in some servers, seconds from now in others.
    return max(0.0, reset - time.time()) if reset > 1e9 else max(0.0, reset)
