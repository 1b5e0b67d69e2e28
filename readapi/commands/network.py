"""Gives the API the indexer's guarded client for requests to other servers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from indexer.network import connect
from indexer.network.http.client import OutboundError
from readapi.oauth.network import Network
from schemas.settings import Settings


@asynccontextmanager
async def open_network(settings: Settings) -> AsyncIterator[Network]:
    """The network client, open until the block ends."""
    async with connect.open_internet(settings) as ways:
        yield Network(
            ways.outbound,
            ways.resolver,
            ways.handles,
            OutboundError,
            downloads=ways.downloads,
            operators=ways.operators,
        )
