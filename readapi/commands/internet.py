"""The indexer's guarded ways to other people's servers, lent to the API."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from indexer import internet
from indexer.outbound import OutboundError
from readapi.oauth.network import Network
from schemas.settings import Settings


@asynccontextmanager
async def open_network(settings: Settings) -> AsyncIterator[Network]:
    """The ways, for as long as the block runs."""
    async with internet.opened(settings) as ways:
        yield Network(
            ways.outbound,
            ways.resolver,
            ways.handles,
            OutboundError,
            downloads=ways.downloads,
            operators=ways.operators,
        )
