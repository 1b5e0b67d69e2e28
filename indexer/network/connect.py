"""Constructs the HTTP clients and the identity resolver from the settings."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from indexer.network.clock import ClockOffset
from indexer.network.http.client import Outbound
from indexer.network.http.operator_client import Operators
from indexer.network.http.slots import SlotLimits
from indexer.network.identity.dns import Dns
from indexer.network.identity.handles import Handles
from indexer.network.identity.resolver import Resolver
from schemas.settings import Settings

# A quarter each, so that one domain or network holds up three others at the most.
CALLS = SlotLimits()
DOWNLOADS = SlotLimits(total=128, of_origin=4, of_site=32, of_network=32, patience_seconds=20.0)


class Internet(NamedTuple):
    """The guarded HTTP clients, and the resolvers of handles and DIDs.

    Long downloads do not use up the connections of short requests: `downloads` is for repos and recordings,
    `outbound` for everything else, and identities have connections of their own. Only `operators` may reach
    the addresses in the operator's settings.
    """

    outbound: Outbound
    downloads: Outbound
    operators: Operators
    handles: Handles
    resolver: Resolver
    clock: ClockOffset


@asynccontextmanager
async def open_internet(settings: Settings) -> AsyncIterator[Internet]:
    """Open the clients; their connections are closed when the block ends."""
    named = (settings.plc_url, settings.handle_resolver, settings.support_verifier, settings.relay_url)
    chosen = [url for url in named if url is not None]
    dns, allow_loopback = Dns(), settings.allow_loopback
    async with (
        Operators(dns, chosen) as operators,
        Outbound(dns, allow_loopback=allow_loopback, limits=CALLS) as lookups,
        Outbound(dns, allow_loopback=allow_loopback, limits=CALLS) as outbound,
        Outbound(dns, allow_loopback=allow_loopback, limits=DOWNLOADS) as downloads,
    ):
        handles = Handles(
            lookups, dns, service=settings.handle_resolver, operators=operators, allow_test=allow_loopback
        )
        resolver = Resolver(
            lookups,
            handles,
            plc_url=settings.plc_url,
            operators=operators,
            allow_loopback=allow_loopback,
            retry_seconds=settings.retry_seconds,
        )
        clock = ClockOffset()
        for client in (operators, lookups, outbound, downloads):
            client.heard = clock.heard
        yield Internet(outbound, downloads, operators, handles, resolver, clock)
