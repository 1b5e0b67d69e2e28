"""Guarded HTTP and identity resolution, as interfaces: the composition root supplies the implementations."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from readapi.oauth.errors import Unavailable
from schemas.ids import Did, Handle

Body = bytes | Path | None  # a Path: the content of the file, streamed


class Response(Protocol):
    """An HTTP response of any status."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def body(self) -> bytes: ...


class Sender(Protocol):
    """HTTP with bounded answers in memory."""

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: Body,
        max_bytes: int,
        timeout_seconds: float,
    ) -> Response: ...


class HttpSender(Sender, Protocol):
    """HTTP to untrusted addresses."""

    def check(self, url: str) -> None: ...
    async def stream(
        self,
        url: str,
        write: Callable[[bytes], object],
        max_bytes: int,
        timeout_seconds: float,
        longest_seconds: float,
        headers: Mapping[str, str],
    ) -> None: ...


class Known(Protocol):
    """A resolved DID document. `handle`: None when it could not be verified.

    `signing_key`: the Multikey that signs the account's commits and service tokens. `space_host`: the service
    that hosts its private Spaces; `space_key`: the Multikey that signs for it.
    """

    @property
    def handle(self) -> Handle | None: ...
    @property
    def pds(self) -> str | None: ...
    @property
    def signing_key(self) -> str | None: ...
    @property
    def space_host(self) -> str | None: ...
    @property
    def space_key(self) -> str | None: ...


class IdentityLookup(Protocol):
    """DID -> identity."""

    async def resolve(self, did: Did) -> Known: ...
    def doubt(self, did: Did) -> None: ...


class HandleLookup(Protocol):
    """Handle -> DID."""

    async def find(self, handle: Handle) -> str | None: ...


class Network:
    """HTTP, identities and handles together. Exceptions of type `failure` become Unavailable.

    `downloads`: connections for long transfers, so that signing in and writing never wait for them.
    `operators`: may reach private networks, for addresses from the settings only.
    """

    def __init__(
        self,
        outbound: HttpSender,
        resolver: IdentityLookup,
        handles: HandleLookup,
        failure: type[Exception],
        *,
        downloads: HttpSender | None = None,
        operators: Sender | None = None,
    ) -> None:
        self._outbound = outbound
        self._downloads = downloads or outbound
        self._operators = operators or outbound
        self._resolver = resolver
        self._handles = handles
        self._failure = failure

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: Body = None,
        max_bytes: int,
        timeout_seconds: float,
    ) -> Response:
        """One request; returns any status."""
        try:
            return await self._outbound.send(
                method, url, headers=headers, body=body, max_bytes=max_bytes, timeout_seconds=timeout_seconds
            )
        except self._failure as error:
            raise Unavailable("Your server cannot be reached at the moment.") from error

    def check_address(self, url: str) -> None:
        """Raise Unavailable where no request to this URL would ever be sent, as its form shows already."""
        try:
            self._outbound.check(url)
        except self._failure as error:
            raise Unavailable("This address may not be requested.") from error

    async def ask_operator(
        self, url: str, *, headers: Mapping[str, str], max_bytes: int, timeout_seconds: float
    ) -> Response:
        """GET an address from the settings, also in private networks. Never pass an untrusted address."""
        try:
            return await self._operators.send(
                "GET", url, headers=headers, body=None, max_bytes=max_bytes, timeout_seconds=timeout_seconds
            )
        except self._failure as error:
            raise Unavailable(
                "A service that this one depends on cannot be reached at the moment."
            ) from error

    async def download(
        self,
        url: str,
        write: Callable[[bytes], object],
        *,
        max_bytes: int,
        timeout_seconds: float,
        longest_seconds: float,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Stream the body of a 200 answer to `write`.

        A server that sends steadily may take longer than `timeout_seconds`, up to `longest_seconds`.
        """
        try:
            await self._downloads.stream(url, write, max_bytes, timeout_seconds, longest_seconds, headers)
        except self._failure as error:
            sentence = f"The recording cannot be had from its server: {error}."
            status, unasked = getattr(error, "status", None), getattr(error, "unasked", False)
            raise Unavailable(sentence, status=status, unasked=unasked) from error

    async def find(self, handle: Handle) -> str | None:
        """The DID that a handle resolves to."""
        try:
            return await self._handles.find(handle)
        except self._failure as error:
            raise Unavailable(f"The handle {handle} could not be resolved.") from error

    async def resolve(self, did: Did, *, anew: bool = False) -> Known:
        """Resolve a DID; `anew`: bypass a cached answer unless it is recent."""
        if anew:
            self._resolver.doubt(did)
        try:
            return await self._resolver.resolve(did)
        except self._failure as error:
            raise Unavailable(f"The identity {did} could not be resolved.") from error
