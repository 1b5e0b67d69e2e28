"""Opens websockets (RFC 6455). Hosts are looked up here, and each address is checked before it is visited."""

import contextlib
import errno
import logging
import os
import re
import socket
import ssl
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import aiohappyeyeballs
from aiohttp import encode_basic_auth
from aiohttp.abc import AbstractResolver
from picows import WSError, WSHandshakeError, WSListener, WSParsedURL, WSTransport, ws_connect
from yarl import URL

from indexer.network.addresses import permitted_addresses
from indexer.network.identity.dns import Dns
from indexer.network.ssrf import NotPermitted

_HEADERS = {"User-Agent": "fmsvc"}
_READ_BYTES = 256 << 10  # the first size of a connection's buffer, which grows to its largest message
_SECOND_ADDRESS_SECONDS = 0.25  # after which the next address of a host is tried as well (RFC 8305)
_QUIET = logging.Logger("picows", logging.CRITICAL + 1)  # what ends a connection is reported by its reader


class NotUpgraded(ConnectionError):
    """The server answered the handshake with another HTTP status than 101."""

    def __init__(self, status: int, retry_after: str) -> None:
        super().__init__(f"HTTP {status} instead of a websocket")
        self.status = status
        self.retry_after = retry_after  # the header, or ""


def anywhere(_: str) -> bool:
    """For the addresses in the operator's own settings."""
    return True


class WebSocketClient:
    """Connects to the addresses that `may_visit` allows. No redirect is followed, no proxy is used."""

    def __init__(
        self,
        resolver: AbstractResolver | None = None,
        *,
        may_visit: Callable[[str], bool] = anywhere,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._resolver = resolver or Dns()
        self._may_visit = may_visit
        self._given_tls = tls

    async def connect(
        self, url: URL, listener: WSListener, *, max_frame_bytes: int, protocols: Sequence[str] = ()
    ) -> WSTransport:
        """Connect `listener` to a ws or wss URL. Raises NotUpgraded and any other OSError.

        The caller limits the time: a call that is cancelled leaves no connection. Pings are answered.
        `protocols`: the subprotocols to offer (RFC 6455, section 1.9).
        """
        opened: list[socket.socket] = []

        async def open_socket(parsed: WSParsedURL) -> socket.socket:
            opened.append(await self._open_socket(parsed.host, parsed.port))
            return opened[0]

        headers = dict(_HEADERS)
        if protocols:
            headers["Sec-WebSocket-Protocol"] = ", ".join(protocols)
        if url.user is not None:
            headers["Authorization"] = encode_basic_auth(url.user, url.password or "")
        try:
            transport, connected = await ws_connect(
                lambda *_: listener,
                str(url.with_user(None)),
                **self._tls_options(url),
                websocket_handshake_timeout=None,
                logger_name=_QUIET,
                max_frame_size=max_frame_bytes,
                extra_headers=headers,
                max_redirects=0,
                read_buffer_init_size=_READ_BYTES,
                socket_factory=open_socket,
                use_aiofastnet=False,
            )
        except BaseException as error:
            for connection in opened:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)  # its transport, if there is one, closes it
            if isinstance(error, WSHandshakeError):
                raise _refusal(error.raw_header or b"") or ConnectionError(str(error)) from error
            if isinstance(error, WSError):
                raise ConnectionError(str(error)) from error
            raise
        if connected is None:
            raise ConnectionError("the server hung up during the handshake")
        return transport

    async def _open_socket(self, host: str, port: int) -> socket.socket:
        """Connect to the first address of the host that answers."""
        try:
            permitted = await permitted_addresses(self._resolver, host, port, self._may_visit)
        except NotPermitted as reason:
            raise PermissionError(errno.EACCES, str(reason)) from None
        places = [
            (socket.AF_INET6 if ":" in place.address else socket.AF_INET, socket.SOCK_STREAM, 0, "", place)
            for place in permitted
        ]
        try:
            return await aiohappyeyeballs.start_connection(
                places, happy_eyeballs_delay=_SECOND_ADDRESS_SECONDS
            )
        except OSError as error:
            if error.errno is None:
                raise
            raise OSError(error.errno, os.strerror(error.errno)) from error

    def _tls_options(self, url: URL) -> dict[str, Any]:
        """The certificate is of the name without the dot that ends it in DNS."""
        if url.scheme != "wss":
            return {}
        return {"ssl_context": self._tls, "server_hostname": (url.host or "").rstrip(".")}

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return self._given_tls or ssl.create_default_context()


def _refusal(head: bytes) -> NotUpgraded | None:
    """The HTTP answer with this head, also of a status that has no name; None for anything else."""
    status = re.match(rb"HTTP/1\.[01] ([2-9][0-9]{2})\b", head)
    if status is None:
        return None
    retry_after = re.search(rb"(?im)^retry-after:[ \t]*([^\r\n]*)", head)
    return NotUpgraded(int(status[1]), retry_after[1].decode("latin-1").strip() if retry_after else "")
