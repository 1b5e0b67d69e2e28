"""DNS answers, says that there is nothing, or does not answer in time; never does it hold a thread."""

import socket
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from indexer.network.identity.dns import Dns
from tests.network.doubles import NameServer


@pytest.fixture
async def server() -> AsyncIterator[NameServer]:
    async with NameServer() as opened:
        yield opened


@pytest.fixture
def dns(server: NameServer, tmp_path: Path) -> Dns:
    hosts = tmp_path / "hosts"
    hosts.write_text("# comment\n192.0.2.7 Relay relay.lan # ours\n2001:db8::7 relay\n\n\xff\n", "latin-1")
    return Dns(server.asked(), hosts)


async def addresses(dns: Dns, host: str) -> list[tuple[str, int]]:
    return [(found["host"], found["port"]) for found in await dns.resolve(host, 443)]


async def test_a_hosts_addresses_are_found(server: NameServer, dns: Dns) -> None:
    server.hosts["pds.example.com"] = ["192.0.2.1", "192.0.2.2"]

    assert sorted(await addresses(dns, "pds.example.com")) == [("192.0.2.1", 443), ("192.0.2.2", 443)]


async def test_the_hosts_file_comes_first(dns: Dns) -> None:
    assert await addresses(dns, "relay") == [("192.0.2.7", 443), ("2001:db8::7", 443)]
    assert await addresses(dns, "RELAY.lan") == [("192.0.2.7", 443)]


async def test_localhost_is_loopback_whatever_dns_says(server: NameServer, dns: Dns) -> None:
    server.hosts["localhost"] = ["192.0.2.1"]

    assert await addresses(dns, "localhost") == [("127.0.0.1", 443)]


async def test_texts_are_joined(server: NameServer, dns: Dns) -> None:
    server.texts["_atproto.example.com"] = ["did=did:plc:a", "other"]

    assert await dns.texts("_atproto.example.com") == {"did=did:plc:a", "other"}


@pytest.mark.parametrize("name", ["absent.example.com", "a" * 64 + ".com", "a." * 200])
async def test_a_name_that_does_not_exist_is_said_to_be_absent(dns: Dns, name: str) -> None:
    for ask in (dns.resolve, dns.texts):
        with pytest.raises(socket.gaierror) as said:
            await ask(name)
        assert said.value.errno == socket.EAI_NONAME


async def test_a_failing_server_is_not_an_absent_name(server: NameServer, dns: Dns) -> None:
    server.failing = True

    with pytest.raises(socket.gaierror) as said:
        await dns.resolve("pds.example.com")

    assert said.value.errno == socket.EAI_AGAIN


async def test_a_silent_server_is_given_up(server: NameServer, tmp_path: Path) -> None:
    """And no thread is left waiting for it."""
    server.silent = True
    before = threading.active_count()

    with pytest.raises(socket.gaierror) as said:
        await Dns(server.asked(), tmp_path / "absent", patience_seconds=0.1).resolve("pds.example.com")

    assert said.value.errno == socket.EAI_AGAIN
    assert threading.active_count() == before
