"""The ways out to other people's servers, as the settings allow them, put together."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import NamedTuple

from indexer.handles import Handles
from indexer.identity import Resolver
from indexer.names import Dns
from indexer.outbound import Outbound
from schemas.settings import Settings


class Internet(NamedTuple):
    """Guarded HTTP, and who goes by which handle and DID."""

    outbound: Outbound
    handles: Handles
    resolver: Resolver


@asynccontextmanager
async def opened(settings: Settings, trusted: Collection[str] = ()) -> AsyncIterator[Internet]:
    """Connections are closed with the block. `trusted`: more origins that the operator chose."""
    named = (settings.plc_url, settings.handle_resolver, settings.support_verifier, *trusted)
    chosen = [url for url in named if url is not None]
    dns, allow_loopback = Dns(), settings.allow_loopback
    async with Outbound(dns, allow_loopback=allow_loopback, trusted=chosen) as outbound:
        handles = Handles(outbound, dns, service=settings.handle_resolver, allow_test=allow_loopback)
        resolver = Resolver(
            outbound,
            handles,
            plc_url=settings.plc_url,
            allow_loopback=allow_loopback,
            retry_seconds=settings.retry_seconds,
        )
        yield Internet(outbound, handles, resolver)
