"""A stranger's address leads to the public internet or nowhere."""

import ipaddress

import pytest

from indexer.network import ssrf


@pytest.mark.parametrize(
    "address",
    [
        "10.1.2.3",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "0.0.0.0",
        "192.0.2.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2001:0:53aa::1",
        "2001:db8::1",
    ],
)
def test_inner_addresses_are_not_public(address: str) -> None:
    """Private, loopback, link-local, shared, reserved, and IPv4 dressed as IPv6."""
    assert not ssrf.is_public(address)


# https://www.iana.org/assignments/iana-ipv4-special-registry and …/iana-ipv6-special-registry, each entry;
# then multicast, and what was reserved before there were registries.
SPECIAL = [
    *("0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
    *("172.16.0.0/12", "192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32"),
    *("192.0.0.170/32", "192.0.0.171/32", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24"),
    *("192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24"),
    *("203.0.113.0/24", "240.0.0.0/4", "255.255.255.255/32", "224.0.0.0/4"),
    *("::1/128", "::/128", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23"),
    *("2001::/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32"),
    *("2001:4:112::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2002::/16"),
    *("2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"),
]


@pytest.mark.parametrize("block", SPECIAL)
def test_no_block_of_the_special_purpose_registries_is_public(block: str) -> None:
    """Neither its first address nor its last, nor as IPv6 what is IPv4."""
    network = ipaddress.ip_network(block)
    ends = [str(network[0]), str(network[-1])]
    mapped = [f"::ffff:{end}" for end in ends if network.version == 4]

    assert [end for end in ends + mapped if ssrf.is_public(end)] == []


@pytest.mark.parametrize("block", ["192.88.99.0/24", "192.0.0.0/24", "100.64.0.0/10", "2620:4f:8000::/48"])
def test_what_lies_beside_such_a_block_is_public(block: str) -> None:
    network = ipaddress.ip_network(block)

    assert ssrf.is_public(str(network[0] - 1))
    assert ssrf.is_public(str(network[-1] + 1))


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert ssrf.is_public(address)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_loopback_is_reached_only_when_allowed(address: str) -> None:
    assert ssrf.is_public(address, allow_loopback=True)
    assert not ssrf.is_public(address)


@pytest.mark.parametrize(
    "url", ["https://example.com/", "https://pds.example.com:8443/x", "https://8.8.8.8/"]
)
def test_public_https_is_permitted(url: str) -> None:
    assert str(ssrf.check_url(url)) == url
