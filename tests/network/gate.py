"""A gate in front of real servers: hands on what it is asked, or goes wrong as told.

    async with Gate(net.plc_url) as plc:
        plc.faults = itertools.repeat(Refuse(503))

Of several servers the first that agrees to answer is heard. `names` are replaced in answers that are JSON: so
a directory leads to other gates.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

import aiohttp
from aiohttp import web

from tests.network.doubles import Loopback
from tests.network.relay import Cut, Refuse


@dataclass(frozen=True, slots=True)
class Stall:
    """Answer only after so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Corrupt:
    """Change the middle byte of the answer."""


Fault = Refuse | Stall | Corrupt | Cut


class Gate(Loopback):
    """Each answer takes the next of `faults`; with none left all is well."""

    def __init__(self, *origins: str, names: Mapping[str, str] | None = None) -> None:
        super().__init__(web.get("/{path:.*}", self._pass))
        self.origins = origins
        self.names = dict(names or {})
        self.faults: Iterator[Fault | None] = iter(())
        self.asked: Counter[str] = Counter()
        self._session: aiohttp.ClientSession

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession()
        return await super().__aenter__()

    async def __aexit__(self, *_: object) -> None:
        await super().__aexit__()
        await self._session.close()

    async def _pass(self, request: web.Request) -> web.StreamResponse:
        self.asked[request.path.rsplit(".", 1)[-1]] += 1
        fault = next(self.faults, None)
        if isinstance(fault, Refuse):
            return refusal(fault)
        if isinstance(fault, Stall):
            await asyncio.sleep(fault.seconds)
        status, kind, body = await self._ask(request)
        if isinstance(fault, Cut):
            return await cut(request, body, kind, fault.after)
        if isinstance(fault, Corrupt):
            body = corrupted(body)
        return web.Response(status=status, body=body, headers={"Content-Type": kind})

    async def _ask(self, request: web.Request) -> tuple[int, str, bytes]:
        """Status, type and body of the first server that agrees, or of the last."""
        status, kind, body = 502, "text/plain", b""
        for origin in self.origins:
            async with self._session.get(origin + request.path_qs) as response:
                status, body = response.status, await response.read()
                kind = response.headers.get("Content-Type", "application/octet-stream")
            if status == 200:
                break
        if "json" in kind:
            for true, shown in self.names.items():
                body = body.replace(true.encode(), shown.encode())
        return status, kind, body


def refusal(fault: Refuse, name: str = "Refused") -> web.Response:
    """An error as XRPC words it."""
    headers = {"Retry-After": fault.retry_after} if fault.retry_after else None
    return web.json_response({"error": name, "message": f"{name}."}, status=fault.status, headers=headers)


def corrupted(body: bytes) -> bytes:
    """The same with one bit turned in the middle."""
    middle = len(body) // 2
    return body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :]


async def cut(request: web.Request, body: bytes, kind: str, after: int) -> web.StreamResponse:
    """The beginning of the answer, and then nobody."""
    response = web.StreamResponse(headers={"Content-Type": kind, "Content-Length": str(len(body))})
    await response.prepare(request)
    await response.write(body[:after])
    if request.transport is not None:
        request.transport.abort()
    return response
