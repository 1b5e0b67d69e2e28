"""Addresses that strangers chose: which of them we visit. Pure.

Spellings are judged here before anything is looked up; what a name resolves to, when the socket is made.
"""

import ipaddress
from functools import lru_cache

from publicsuffixlist import PublicSuffixList
from yarl import URL

_SUFFIXES = PublicSuffixList()  # as it came with the package: nothing is downloaded


class NotPermitted(ValueError):
    """The address is one that we do not visit on a stranger's word; the message says why in a few words."""


def is_public(address: str, *, allow_loopback: bool = False) -> bool:
    """May a stranger's name lead to this address? Only to the public internet."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return is_public(str(ip.ipv4_mapped), allow_loopback=allow_loopback)
        if ip.sixtofour is not None or ip.teredo is not None or ip.is_site_local:
            return False
    if ip.is_loopback:
        return allow_loopback
    return ip.is_global and not (ip.is_multicast or ip.is_reserved)


def permitted(url: str, *, allow_loopback: bool = False) -> URL:
    """The URL, if its spelling is one that we follow: https, a real host, no user, no low port but 443.

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


def network(address: str) -> str:
    """The /24 or /48 around an address: about what one party is given. Raises ValueError."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    prefix = 24 if ip.version == 4 else 48
    return str(ipaddress.ip_network((ip, prefix), strict=False))


@lru_cache(maxsize=4096)
def site(host: str) -> str:
    """The registrable domain of a host: all names under it have one owner. An IP address: its network."""
    name = host.rstrip(".").lower()
    try:
        return network(name)
    except ValueError:
        return _SUFFIXES.privatesuffix(name) or name
