"""A stranger's address leads to the public internet or nowhere."""

import pytest

from indexer import addresses


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
    assert not addresses.is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert addresses.is_public(address)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_loopback_is_reached_only_when_allowed(address: str) -> None:
    assert addresses.is_public(address, allow_loopback=True)
    assert not addresses.is_public(address)


@pytest.mark.parametrize(
    "url", ["https://example.com/", "https://pds.example.com:8443/x", "https://8.8.8.8/"]
)
def test_public_https_is_permitted(url: str) -> None:
    assert str(addresses.permitted(url)) == url
