"""Telling clients apart: by the peer's address, or by what a trusted proxy says."""

import pytest
from aiohttp.test_utils import make_mocked_request

from readapi.http.limits.clients import Clients, network_prefix

PROXY = "10.0.0.1"


def key(trusted: tuple[str, ...], peer: str, *forwarded: str) -> str:
    headers = [("X-Forwarded-For", value) for value in forwarded]
    request = make_mocked_request("GET", "/", headers=headers).clone(remote=peer)
    return Clients(trusted).key(request)


@pytest.mark.parametrize(
    ("trusted", "peer", "forwarded", "expected"),
    [
        ((), "203.0.113.9", (), "203.0.113.9"),
        ((), "203.0.113.9", ("198.51.100.1",), "203.0.113.9"),
        ((PROXY,), "203.0.113.9", ("198.51.100.1",), "203.0.113.9"),
        ((PROXY,), PROXY, ("198.51.100.1",), "198.51.100.1"),
        ((PROXY,), PROXY, ("6.6.6.6, 198.51.100.1",), "198.51.100.1"),
        ((PROXY,), PROXY, ("6.6.6.6", "198.51.100.1"), "198.51.100.1"),
        (("10.0.0.0/8",), PROXY, ("198.51.100.1, 10.9.9.9",), "198.51.100.1"),
        ((PROXY,), PROXY, ("made up",), PROXY),
        ((PROXY,), PROXY, (), PROXY),
        (("10.0.0.0/8",), PROXY, ("10.1.1.1, 10.2.2.2",), "10.1.1.1"),
    ],
)
def test_only_trusted_proxies_are_believed(trusted, peer, forwarded, expected):
    """The nearest hop that is no proxy of ours is the client; what stands left of it may be made up."""
    assert key(trusted, peer, *forwarded) == expected


def test_one_household_shares_its_ipv6_network():
    """Whoever has one address of a /64 has them all; an IPv4 address written as IPv6 is itself."""
    assert network_prefix("2001:db8:1:2:3:4:5:6") == network_prefix("2001:db8:1:2::1") == "2001:db8:1:2::"
    assert network_prefix("2001:db8:1:3::1") == "2001:db8:1:3::"
    assert network_prefix("::ffff:192.0.2.1") == "192.0.2.1"


def test_a_proxy_is_trusted_on_a_socket_of_both_families() -> None:
    """It names an IPv4 peer by an IPv6 address."""
    clients = Clients(["127.0.0.1"])

    assert clients.is_trusted("::ffff:127.0.0.1")
    assert not clients.is_trusted("::ffff:127.0.0.2")
