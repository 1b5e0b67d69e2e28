"""What the tests of signing in share: the real PDS, and a client of either kind."""

from collections.abc import AsyncIterator

import pytest

from indexer.network.identity.dns import Dns
from readapi.oauth.client import OAuthClient
from readapi.oauth.network import Network
from tests.network.testnet import Testnet
from tests.readapi.oauth import clients
from tests.readapi.oauth.clients import Published


@pytest.fixture
async def connection(net: Testnet) -> AsyncIterator[Network]:
    async with clients.connected(net.plc_url, net.pds[0].url, Dns()) as network:
        yield network


@pytest.fixture
def client(connection: Network) -> OAuthClient:
    """The client of development, without keys."""
    return clients.loopback(connection)


@pytest.fixture
async def confidential(connection: Network) -> AsyncIterator[OAuthClient]:
    """A client with a key, as in production."""
    async with Published() as published:
        yield OAuthClient(published.metadata, connection, allow_loopback=True)


@pytest.fixture
async def public(connection: Network) -> AsyncIterator[OAuthClient]:
    """A client on https that has no key."""
    async with Published(public=True) as published:
        yield OAuthClient(published.metadata, connection, allow_loopback=True)


@pytest.fixture(params=["client", "confidential", "public"])
def either(request: pytest.FixtureRequest) -> OAuthClient:
    """Each kind, one after the other."""
    made: OAuthClient = request.getfixturevalue(request.param)
    return made
