"""The SSRF guard: decides which URLs and IP addresses from outside may be requested. Pure.

URLs are checked before their host is looked up; the addresses it resolves to, when the socket is made.
"""

import ipaddress
from functools import cache, lru_cache

from publicsuffixlist import PublicSuffixList
from yarl import URL

# All blocks of IANA's two special-purpose registries, including the globally reachable ones, such as anycast
# relays and AS112, where no PDS is. Multicast is not in the registries.
_SPECIAL_IPV4 = tuple(
    ipaddress.IPv4Network(block)
    for block in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24"),
        *("192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
        *("224.0.0.0/4", "240.0.0.0/4"),
    )
)
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")  # the only range of IPv6 that is given out for that
_SPECIAL_IPV6 = tuple(
    ipaddress.IPv6Network(block)
    for block in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)


class NotPermitted(ValueError):
    """A URL or address from outside that may not be requested; the message says why in a few words."""


def is_public(address: str, *, allow_loopback: bool = False) -> bool:
    """True for an address of the public internet, the only ones that a name from outside may resolve to."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    if ip.is_loopback:
        return allow_loopback
    if isinstance(ip, ipaddress.IPv4Address):
        return not any(ip in block for block in _SPECIAL_IPV4)
    return ip in _GLOBAL_UNICAST and not any(ip in block for block in _SPECIAL_IPV6)


def is_address(host: str) -> bool:
    """True for an IP address, also with a zone; False for a name."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def check_url(url: str, *, allow_loopback: bool = False) -> URL:
    """Parse a URL and check its form: https, a public host, no user name, no port below 1024 but 443.

    Raises NotPermitted. What its host resolves to is checked when the socket is made.
    """
    try:
        parsed = URL(url)
        host, port = parsed.host or "", parsed.explicit_port
    except ValueError:
        raise NotPermitted("not a URL") from None
    if parsed.user is not None or parsed.password is not None:
        raise NotPermitted("a URL with a user name")
    if allow_loopback and _is_loopback_name(host) and parsed.scheme in ("http", "https"):
        return parsed
    if parsed.scheme != "https":
        raise NotPermitted("not an https URL")
    if not _is_public_name(host):
        raise NotPermitted("not a public host")
    if port is not None and port != 443 and port < 1024:
        raise NotPermitted("a port where no web server belongs")
    return parsed


def _is_loopback_name(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_public_name(host: str) -> bool:
    try:
        return is_public(host)
    except ValueError:
        last_label = host.rstrip(".").rpartition(".")[2]
        # Resolvers read 2130706433 and 0x7f.1 as IPv4 addresses.
        return "." in host.rstrip(".") and not last_label[:1].isdigit()


def network_of(address: str) -> str:
    """The /24 or /48 around an address: about what one customer is assigned. Raises ValueError."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    prefix = 24 if ip.version == 4 else 48
    return str(ipaddress.ip_network((ip, prefix), strict=False))


@lru_cache(maxsize=4096)
def site_of(host: str) -> str:
    """The registrable domain of a host: all names under it have one owner. An IP address: its network."""
    name = host.rstrip(".").lower()
    try:
        return network_of(name)
    except ValueError:
        return _suffixes().privatesuffix(name) or name


@cache
def _suffixes() -> PublicSuffixList:
    """The list that the package contains, without a download. Parsed on first use, not by every command."""
    return PublicSuffixList()
