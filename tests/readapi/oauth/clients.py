"""The client as the service would make it, with the indexer's own network, ready to sign people in."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

import orjson
from aiohttp import web
from aiohttp.abc import AbstractResolver

from indexer.network.http.client import Outbound, OutboundError
from indexer.network.identity.dns import Dns
from indexer.network.identity.handles import Handles
from indexer.network.identity.resolver import Resolver
from readapi.oauth import keys, scopes
from readapi.oauth.client import OAuthClient
from readapi.oauth.grant import Grant
from readapi.oauth.metadata import DOCUMENT_PATH, JWKS_PATH, ClientMetadata
from readapi.oauth.network import Network
from schemas.settings import Settings
from tests.network.doubles import Loopback
from tests.network.person import Person

LOOPBACK = ClientMetadata.of(Settings())
SCOPE = " ".join(scopes.sign_in_scopes(LOOPBACK.collections))


@asynccontextmanager
async def connected(plc_url: str, handle_resolver: str, dns: AbstractResolver) -> AsyncIterator[Network]:
    """The network, with servers on loopback allowed."""
    async with Outbound(dns, allow_loopback=True) as outbound:
        handles = Handles(outbound, Dns(), service=handle_resolver, allow_test=True)
        resolver = Resolver(outbound, handles, plc_url=plc_url, allow_loopback=True)
        yield Network(outbound, resolver, handles, OutboundError)


def loopback(network: Network) -> OAuthClient:
    return OAuthClient(LOOPBACK, network, allow_loopback=True)


async def sign_in(client: OAuthClient, person: Person, granting: str | None = None) -> Grant:
    """Begin, let the person agree, finish."""
    flight, page = await client.begin(person.account.handle, SCOPE)
    return await client.finish(flight, await person.agree(page, granting))


async def write(client: OAuthClient, grant: Grant, collection: str = "fm.svc.like") -> int:
    """The status of an attempt to write a record."""
    record = {"$type": collection, "createdAt": "2026-01-01T00:00:00Z"}
    body = orjson.dumps({"repo": grant.did, "collection": collection, "record": record, "validate": False})
    url = f"{grant.pds}/xrpc/com.atproto.repo.createRecord"
    headers = {"Content-Type": "application/json"}
    return (await client.request(grant, "POST", url, headers=headers, body=body)).status


class Published(Loopback):
    """A client whose document and keys can be fetched by PDSes; `metadata` may be changed.

    `public`: it has no keys.
    """

    def __init__(self, *private: str, public: bool = False) -> None:
        super().__init__(web.get(DOCUMENT_PATH, self._document), web.get(JWKS_PATH, self._jwks))
        self._keys = private if private or public else (keys.generate_key(),)
        self.metadata: ClientMetadata

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self.metadata = self.with_keys(*self._keys)
        return self

    def with_keys(self, *private: str) -> ClientMetadata:
        """The same client, after its operator changed its keys."""
        url = f"https://port-{self.port}.fmsvc-network.net"
        with_keys = {"oauth_keys": f"[{','.join(private)}]"} if private else {}
        return ClientMetadata.of(Settings.model_validate({"public_url": url, **with_keys}))

    async def _document(self, _: web.Request) -> web.Response:
        return web.json_response(self.metadata.document())

    async def _jwks(self, _: web.Request) -> web.Response:
        return web.json_response(self.metadata.keys.published())
