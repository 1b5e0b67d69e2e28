"""Which client sent a request: the peer's address, or what a trusted proxy says of it."""

import ipaddress
from collections.abc import Sequence
from functools import lru_cache

from aiohttp import web

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Client(str):
    """What somebody's requests are counted under who has no account."""

    __slots__ = ()


CLIENT = web.RequestKey("client", Client)  # where a request says which client sent it


class Clients:
    """Tells clients apart. `X-Forwarded-For` counts only when the peer itself is a trusted proxy."""

    def __init__(self, trusted_proxies: Sequence[str]) -> None:
        self._trusted: tuple[Network, ...] = tuple(
            ipaddress.ip_network(proxy, strict=False) for proxy in trusted_proxies
        )

    def key(self, request: web.Request) -> Client:
        """Which client this is."""
        peer = request.remote or "unknown"
        if self._trusted and self.is_trusted(peer):
            peer = self._forwarded(request.headers.getall("X-Forwarded-For", ()), peer)
        return Client(peer if ":" not in peer else household(peer))

    def _forwarded(self, headers: Sequence[str], peer: str) -> str:
        """The nearest hop that is no proxy of ours: anything further left may be made up."""
        nearest = peer
        for hop in reversed([part.strip() for header in headers for part in header.split(",")]):
            if _address(hop) is None:
                break
            nearest = hop
            if not self.is_trusted(hop):
                break
        return nearest

    def is_trusted(self, text: str) -> bool:
        """Is this the address of a proxy of ours?"""
        address = _address(text)
        return address is not None and any(address in network for network in self._trusted)


@lru_cache(maxsize=4096)
def household(address: str) -> str:
    """An IPv6 address stands for its /64: whoever has one address has the others too."""
    parsed = _address(address.partition("%")[0])
    if parsed is None or parsed.version == 4:
        return address if parsed is None else str(parsed)
    return str(ipaddress.ip_network((parsed, 64), strict=False).network_address)


@lru_cache(maxsize=4096)
def network(address: str) -> str:
    """The /24 or /48 around an address, with its length: about what one party is given."""
    parsed = _address(address.partition("%")[0])
    if parsed is None:
        return address
    return str(ipaddress.ip_network((parsed, 24 if parsed.version == 4 else 48), strict=False))


def _address(text: str) -> Address | None:
    """As a socket of both families names an IPv4 peer, it is still an IPv4 address."""
    try:
        parsed = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(parsed, "ipv4_mapped", None) or parsed
