"""One HTTP exchange: its errors (OutboundError and subclasses), its timeouts, and its limits of bytes."""

import asyncio
import errno
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import aiohttp

from indexer.network.http.slots import Full
from schemas.backoff import parse_retry_after

CHUNK_BYTES = 64 << 10
SLOWEST_BYTES_PER_SECOND = 128 << 10
TRY_AGAIN_SECONDS = 10.0

Answer = TypeVar("Answer")


class OutboundError(Exception):
    """The request brought no usable answer; the message says why.

    `transient`: a later attempt may succeed. `unasked`: no server was asked, so this says nothing about any.
    """

    transient = False
    unasked = False


class Forbidden(OutboundError):
    """The SSRF guard does not permit the URL or the address."""


class NoSuchHost(OutboundError):
    """DNS says that the host does not exist."""


class TooLarge(OutboundError):
    """The answer is longer than it may be."""


class Unreachable(OutboundError):
    """No answer in time, or a broken connection."""

    transient = True


class NotNow(OutboundError):
    """The server was not asked: the throttle has no slot for it before `retry_after` seconds are over."""

    transient = True
    unasked = True

    def __init__(self, reason: str, retry_after: float) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class Answered(OutboundError):
    """The server answered, but not with 200. `body` is the beginning of the answer's body.

    `retry_after`: the seconds in its Retry-After, if it has one.
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


async def exchange_within(
    timeout_seconds: float, exchange: Callable[[asyncio.Timeout], Awaitable[Answer]]
) -> Answer:
    """Run an exchange within a time limit; every failure becomes an OutboundError."""
    try:
        async with asyncio.timeout(timeout_seconds) as patience:
            return await exchange(patience)
    except TimeoutError:
        raise Unreachable(f"no answer within {timeout_seconds:g} s") from None
    except Full as full:
        raise NotNow(str(full), TRY_AGAIN_SECONDS) from None
    except (socket.gaierror, aiohttp.ClientConnectorDNSError) as error:
        missing = getattr(error, "os_error", error).errno == socket.EAI_NONAME
        raise (NoSuchHost if missing else Unreachable)("the host's name does not resolve") from error
    except aiohttp.ClientConnectorError as error:
        if error.os_error.errno == errno.EACCES:
            raise Forbidden("not a public address") from error
        raise Unreachable("no connection") from error
    except aiohttp.ClientError as error:
        raise Unreachable(f"the connection broke ({type(error).__name__})") from error
    except ValueError as error:
        raise Forbidden("not an address that can be visited") from error


async def body_of(response: aiohttp.ClientResponse, max_bytes: int, whole: bool) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_chunked(CHUNK_BYTES):
        body += chunk
        if len(body) >= max_bytes and not whole:
            break
        if len(body) > max_bytes:
            raise TooLarge(f"longer than {max_bytes} bytes")
    return bytes(body[:max_bytes])


async def pieces_of(
    response: aiohttp.ClientResponse,
    write: Callable[[bytes], object],
    max_bytes: int,
    pace: "BodyDeadline",
) -> None:
    received = 0
    pace.keep(received)
    async for chunk in response.content.iter_chunked(CHUNK_BYTES):
        received += len(chunk)
        if received > max_bytes:
            raise TooLarge(f"longer than {max_bytes} bytes")
        write(chunk)
        pace.keep(received)


class BodyDeadline:
    """Moves a body's deadline while it is received."""

    def __init__(self, patience: asyncio.Timeout, first_seconds: float, longest_seconds: float) -> None:
        self._patience = patience
        self._began = asyncio.get_running_loop().time()
        self._first_seconds = first_seconds
        self._longest_seconds = longest_seconds

    def keep(self, received: int) -> None:
        """Extend the deadline by the bytes received, up to the longest time."""
        earned = self._first_seconds + received / SLOWEST_BYTES_PER_SECOND
        self._patience.reschedule(self._began + min(earned, self._longest_seconds))


def pause_of(response: aiohttp.ClientResponse) -> float | None:
    """The seconds that the answer asks us to wait: by Retry-After, or by RateLimit-Reset of older drafts."""
    if asked := response.headers.get("retry-after"):
        return parse_retry_after(asked)
    if response.status != 429:
        return None  # A PDS sends the reset with every answer; only a 429 means that the limit is reached.
    try:
        reset = float(response.headers.get("ratelimit-reset", ""))
    except ValueError:
        return None
    # An instant in some servers, seconds from now in others.
    return max(0.0, reset - time.time()) if reset > 1e9 else max(0.0, reset)
