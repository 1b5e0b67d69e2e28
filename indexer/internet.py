"""The ways out to other people's servers, as the settings allow them, put together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from indexer.clock import ClockOffset
from indexer.handles import Handles
from indexer.identity import Resolver
from indexer.lanes import Limits
from indexer.names import Dns
from indexer.operators import Operators
from indexer.outbound import Outbound
from schemas.settings import Settings

# A quarter each, so that one domain or network holds up three others at the most.
CALLS = Limits()
DOWNLOADS = Limits(total=128, of_origin=4, of_site=32, of_network=32, patience_seconds=20.0)


class Internet(NamedTuple):
    """Guarded HTTP, and who goes by which handle and DID.

    What is long does not take the connections of what is short: `downloads` is for repos and recordings,
    `outbound` for everything else, and identities are asked for over connections of their own. `operators`
    alone reaches the operator's own addresses.
    """

    outbound: Outbound
    downloads: Outbound
    operators: Operators
    handles: Handles
    resolver: Resolver
    clock: ClockOffset


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Internet]:
    """Connections are closed with the block."""
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
