"""The client of a request: the peer's address, or the one that a trusted proxy forwards."""

import ipaddress
from collections.abc import Sequence
from functools import lru_cache

from aiohttp import web

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Client(str):
    """The key under which requests without an account are counted: an address, or an IPv6 /64."""

    __slots__ = ()


CLIENT_HEADER = "X-Fmsvc-Client"  # on this service's own Unix socket alone: the client that a tool works for


class Clients:
    """Identifies clients. `X-Forwarded-For` counts only when the peer itself is a trusted proxy."""

    def __init__(self, trusted_proxies: Sequence[str]) -> None:
        self._trusted: tuple[Network, ...] = tuple(
            ipaddress.ip_network(proxy, strict=False) for proxy in trusted_proxies
        )

    def key(self, request: web.Request) -> Client:
        """The client that sent a request."""
        peer = request.remote
        if not peer:  # of a Unix socket, which only the service's own user can open
            return Client(request.headers.get(CLIENT_HEADER, "unknown"))
        if not self._trusted:
            return _client_at(peer)
        return self.identify(peer, request.headers.getall("X-Forwarded-For", ()))

    def identify(self, peer: str, forwarded: Sequence[str] = ()) -> Client:
        """The client at this address, or behind it. `forwarded`: the values of X-Forwarded-For."""
        if forwarded and self.is_trusted(peer):
            peer = self._forwarded(forwarded, peer)
        return _client_at(peer)

    def _forwarded(self, headers: Sequence[str], peer: str) -> str:
        """The nearest hop that is not a trusted proxy: anything further left may be forged."""
        nearest = peer
        for hop in reversed([part.strip() for header in headers for part in header.split(",")]):
            if _address(hop) is None:
                break
            nearest = hop
            if not self.is_trusted(hop):
                break
        return nearest

    def is_trusted(self, text: str) -> bool:
        """Is this the address of a trusted proxy?"""
        address = _address(text)
        return address is not None and any(address in network for network in self._trusted)


@lru_cache(maxsize=4096)
def _client_at(peer: str) -> Client:
    return Client(peer if ":" not in peer else network_prefix(peer))


@lru_cache(maxsize=4096)
def network_prefix(address: str) -> str:
    """The /64 of an IPv6 address, or the IPv4 address itself: one host can use every address of its /64."""
    parsed = _address(address.partition("%")[0])
    if parsed is None or parsed.version == 4:
        return address if parsed is None else str(parsed)
    return str(ipaddress.ip_network((parsed, 64), strict=False).network_address)


@lru_cache(maxsize=4096)
def wider_network(address: str) -> str:
    """The /24 or /48 around an address, with its length: about what one customer is assigned."""
    parsed = _address(address.partition("%")[0])
    if parsed is None:
        return address
    return str(ipaddress.ip_network((parsed, 24 if parsed.version == 4 else 48), strict=False))


def _address(text: str) -> Address | None:
    """The parsed address. An IPv4-mapped IPv6 address, as dual-stack sockets report it, becomes IPv4."""
    try:
        parsed = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(parsed, "ipv4_mapped", None) or parsed
