"""DNS look-ups without threads, so that one that hangs does not delay the process's exit.

The system's resolver blocks a thread without a time limit, and Python waits for its threads at exit.
"""

import asyncio
import socket
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import dns.asyncresolver
import dns.exception
import dns.name
import dns.resolver
from aiohttp.abc import AbstractResolver, ResolveResult

HOSTS = Path("/etc/hosts")

_ABSENT = (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer, dns.name.LabelTooLong, dns.name.NameTooLong)


class Dns(AbstractResolver):
    """Queries the system's name servers; for addresses of hosts, the hosts file first.

    Raises socket.gaierror: EAI_NONAME when there is no such name, EAI_AGAIN when no server answers.
    """

    def __init__(
        self,
        nameserver: dns.asyncresolver.Resolver | None = None,
        hosts: Path = HOSTS,
        patience_seconds: float = 5.0,
    ) -> None:
        self._nameserver = nameserver
        self._patience_seconds = patience_seconds
        self._hosts = _read_hosts(hosts)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a host."""
        addresses = self._hosts.get(host.lower())
        if addresses is None:
            async with self._asking() as nameserver:
                addresses = list((await nameserver.resolve_name(host)).addresses())
        return [_result(host, address, port) for address in addresses]

    async def texts(self, name: str) -> set[str]:
        """The TXT records of a name."""
        async with self._asking() as nameserver:
            answer = await nameserver.resolve(name, "TXT", search=False)
        return {b"".join(record.strings).decode(errors="replace") for record in answer}

    async def close(self) -> None:
        """Do nothing: no connection stays open."""

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[dns.asyncresolver.Resolver]:
        try:
            # Created on first use, because a machine without any name server can still serve its index.
            self._nameserver = self._nameserver or dns.asyncresolver.Resolver()
            async with asyncio.timeout(self._patience_seconds):
                yield self._nameserver
        except _ABSENT:
            raise socket.gaierror(socket.EAI_NONAME, "no such name") from None
        except (dns.exception.DNSException, OSError) as error:
            message = f"DNS does not answer ({type(error).__name__})"
            raise socket.gaierror(socket.EAI_AGAIN, message) from error


def _read_hosts(path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    text = path.read_text(errors="replace") if path.exists() else ""
    for line in text.splitlines():
        address, *names = line.partition("#")[0].split() or [""]
        for name in names:
            found[name.lower()].append(address)
    return {**found, "localhost": ["127.0.0.1"]}


def _result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(
        hostname=host, host=address, port=port, family=family, proto=0, flags=socket.AI_NUMERICHOST
    )
