"""The world's servers in small, on loopback: names, DNS, a directory and a personal data server."""

import asyncio
import socket
from collections.abc import Mapping
from typing import Any, Self

import dns.asyncresolver
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
import orjson
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.test_utils import TestServer

from schemas.ids import Did

ALICE = Did("did:plc:abcdefghijklmnopqrstuvwx")
HANDLE = "alice.example.com"
HOSTED = "https://pds.example.com"
KEY = "zQ3shXjHeiBuRCKmM36cuYnm7YEMzhGnCmCyW92sRJ9pribSF"


def document(did: str = ALICE, **changes: object) -> bytes:
    """The DID document of an account that goes by HANDLE and lives at HOSTED, with these parts changed."""
    method = {"id": f"{did}#atproto", "type": "Multikey", "controller": did, "publicKeyMultibase": KEY}
    whole = {
        "id": did,
        "alsoKnownAs": [f"at://{HANDLE}"],
        "verificationMethod": [method],
        "service": service(HOSTED),
    }
    return orjson.dumps(whole | changes)


def service(endpoint: object) -> list[dict[str, object]]:
    """The `service` part that names this personal data server."""
    return [{"id": "#atproto_pds", "type": "AtprotoPersonalDataServer", "serviceEndpoint": endpoint}]


class Names(AbstractResolver):
    """Host names -> (address, port); any other name does not exist."""

    def __init__(self, known: Mapping[str, tuple[str, int]]) -> None:
        self.known = known

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        if host not in self.known:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        address, port = self.known[host]
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        flags = socket.AI_NUMERICHOST
        return [ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=flags)]

    async def close(self) -> None:
        pass


class NameServer(asyncio.DatagramProtocol):
    """Answers TXT questions from `texts` and A questions from `hosts`; silent or failing on request."""

    def __init__(self) -> None:
        self.texts: dict[str, list[str]] = {}
        self.hosts: dict[str, list[str]] = {}
        self.failing = False
        self.silent = False
        self.port = 0

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", 0))
        self.transport: Any = transport
        self.port = transport.get_extra_info("sockname")[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.transport.close()

    def asked(self) -> dns.asyncresolver.Resolver:
        """A client that asks this server."""
        client = dns.asyncresolver.Resolver(configure=False)
        client.nameservers, client.port = ["127.0.0.1"], self.port
        return client

    def datagram_received(self, data: bytes, address: Any) -> None:
        question = dns.message.from_wire(data)
        response = dns.message.make_response(question)
        name, kind = question.question[0].name, dns.rdatatype.to_text(question.question[0].rdtype)
        asked = name.to_text(omit_final_dot=True)
        found = {"TXT": [f'"{text}"' for text in self.texts.get(asked, ())], "A": self.hosts.get(asked, [])}
        if self.failing:
            response.set_rcode(dns.rcode.SERVFAIL)
        elif not any(found.values()):
            response.set_rcode(dns.rcode.NXDOMAIN)
        elif found.get(kind):
            response.answer.append(dns.rrset.from_text(name, 60, "IN", kind, *found[kind]))
        if not self.silent:
            self.transport.sendto(response.to_wire(), address)


class Loopback:
    """A web server with these routes at a port of 127.0.0.1, for as long as the block lasts."""

    def __init__(self, *routes: web.RouteDef) -> None:
        app = web.Application()
        app.router.add_routes(routes)
        self._server = TestServer(app, host="127.0.0.1")

    @property
    def port(self) -> int:
        return self._server.port or 0

    @property
    def url(self) -> str:
        """Its origin."""
        return f"http://localhost:{self.port}"

    async def __aenter__(self) -> Self:
        await self._server.start_server()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.close()


class Pages(Loopback):
    """Its answers are set by path; notes what it was asked."""

    def __init__(self) -> None:
        super().__init__(web.get("/{path:.*}", self._answer))
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.headers: dict[str, str] = {}  # of every answer
        self.asked: list[str] = []
        self.delay_seconds = 0.0

    async def _answer(self, request: web.Request) -> web.Response:
        path = request.path_qs
        self.asked.append(path)
        await asyncio.sleep(self.delay_seconds)
        status, body = self.answers.get(path, (404, b"{}"))
        return web.Response(status=status, body=body, headers=self.headers)
