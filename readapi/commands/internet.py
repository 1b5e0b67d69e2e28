"""The indexer's guarded way to other people's servers, lent to the API for signing in."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from indexer import internet
from indexer.outbound import OutboundError
from readapi.oauth.network import Network
from schemas.settings import Settings


@asynccontextmanager
async def open_network(settings: Settings) -> AsyncIterator[Network]:
    """The way, for as long as the block runs."""
    async with internet.opened(settings) as (outbound, handles, resolver):
        yield Network(outbound, resolver, handles, OutboundError)
