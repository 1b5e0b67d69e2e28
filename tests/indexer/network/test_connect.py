"""The operator's own addresses are for the code that asks them; no stranger leads there."""

from collections.abc import AsyncIterator

import pytest

from indexer.network import connect
from indexer.network.connect import Internet
from indexer.network.http.client import Forbidden
from readapi.commands.network import open_network
from readapi.oauth.errors import Unavailable
from schemas.settings import Settings
from tests.network.doubles import ALICE, Pages, document


@pytest.fixture
async def private() -> AsyncIterator[Pages]:
    """Directory, resolver, verifier and relay in one, at an address that strangers may not send us to."""
    async with Pages() as pages:
        pages.answers[f"/{ALICE}"] = (200, document(alsoKnownAs=[]))
        yield pages


def settings_of(private: Pages) -> Settings:
    """Everything that an operator may choose is there; loopback is a private network like any other."""
    relay = private.url.replace("http", "ws", 1)
    chosen = dict.fromkeys(("plc_url", "handle_resolver", "support_verifier"), private.url)
    return Settings.model_validate({"relay": relay, **chosen})


@pytest.fixture
async def ways(private: Pages) -> AsyncIterator[Internet]:
    async with connect.open_internet(settings_of(private)) as opened:
        yield opened


async def test_the_operators_directory_may_be_at_a_private_address(private: Pages, ways: Internet) -> None:
    known = await ways.resolver.resolve(ALICE)

    assert known.pds == "https://pds.example.com"
    assert private.asked == [f"/{ALICE}"]


async def test_a_strangers_address_does_not_lead_there(private: Pages, ways: Internet) -> None:
    """Whichever way it is asked, though it is the very origin that the settings name."""
    url = f"{private.url}/{ALICE}"
    pieces: list[bytes] = []
    for client in (ways.outbound, ways.downloads):
        with pytest.raises(Forbidden):
            await client.fetch(url, 1000, 5)
        with pytest.raises(Forbidden):
            await client.stream(url, pieces.append, 1000, 5, 5)
        with pytest.raises(Forbidden):
            await client.send("GET", url, headers={}, body=None, max_bytes=1000, timeout_seconds=5)

    assert private.asked == []


async def test_a_strangers_server_for_the_api_does_not_lead_there(private: Pages) -> None:
    """Neither to sign in at, nor to write to, nor to hear something from; the verifier is still asked."""
    private.answers["/"] = (200, b"{}")
    async with open_network(settings_of(private)) as network:
        with pytest.raises(Unavailable):
            await network.send("GET", f"{private.url}/par", headers={}, max_bytes=1000, timeout_seconds=5)
        with pytest.raises(Unavailable):
            await network.download(
                f"{private.url}/blob",
                lambda _: None,
                max_bytes=1000,
                timeout_seconds=5,
                longest_seconds=5,
            )
        answer = await network.ask_operator(f"{private.url}/", headers={}, max_bytes=9, timeout_seconds=5)

    assert answer.status == 200
    assert private.asked == ["/"]


async def test_the_operators_client_goes_nowhere_else(private: Pages, ways: Internet) -> None:
    """Not even by a redirect of the operator's own server."""
    async with Pages() as elsewhere:
        with pytest.raises(Forbidden):
            await ways.operators.fetch(f"{elsewhere.url}/", 1000, 5, redirects=1)

        assert elsewhere.asked == []
