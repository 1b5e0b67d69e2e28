"""The addresses of a host that may be connected to: looked up, checked, and few."""

import socket
from collections.abc import Callable
from typing import Final, NamedTuple

from aiohttp.abc import AbstractResolver

from indexer.network.ssrf import NotPermitted, is_address

MOST_ADDRESSES: Final = 4  # of one host that are tried


class HostAddress(NamedTuple):
    """One address of a host."""

    address: str
    port: int


async def permitted_addresses(
    resolver: AbstractResolver, host: str, port: int, may_visit: Callable[[str], bool]
) -> list[HostAddress]:
    """The host's addresses that `may_visit` allows, at most MOST_ADDRESSES, at least one.

    IPv4 comes first: not every machine has a route for IPv6. Raises NotPermitted and socket.gaierror.
    """
    found = [HostAddress(host, port)] if is_address(host) else await _look_up(resolver, host, port)
    permitted = [place for place in found if may_visit(place.address)][:MOST_ADDRESSES]
    if not permitted:
        raise NotPermitted("not a public address")
    return permitted


async def _look_up(resolver: AbstractResolver, host: str, port: int) -> list[HostAddress]:
    found = await resolver.resolve(host.rstrip("."), port)
    if not found:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")
    return sorted(
        (HostAddress(one["host"], one["port"] or port) for one in found),
        key=lambda place: ":" in place.address,
    )
