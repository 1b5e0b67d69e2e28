"""HTTP to the addresses in the operator's settings: PLC directory, handle resolver, verifier, relay."""

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from indexer.network.http.client import Body, Client, Forbidden, open_body, session_over

CONNECTIONS_PER_HOST = 16


class Operators(Client):
    """The client for the origins in the operator's settings, whatever their address, and no others.

    Only code that requests such an origin because of a setting holds this client. A URL from outside goes
    through Outbound, even if it names the same host.
    """

    def __init__(self, resolver: AbstractResolver, origins: Collection[str]) -> None:
        super().__init__(
            session_over(aiohttp.TCPConnector(limit_per_host=CONNECTIONS_PER_HOST, resolver=resolver))
        )
        self._origins = frozenset(URL(url).origin() for url in origins)

    @asynccontextmanager
    async def _asking(
        self, method: str, url: str, headers: Mapping[str, str], body: Body = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        parsed = URL(url)
        if not parsed.absolute or parsed.origin() not in self._origins:
            raise Forbidden("not an address of the operator's")
        asking = self._session.request(
            method, parsed, headers=headers, data=open_body(body), allow_redirects=False
        )
        async with asking as response:
            yield response
