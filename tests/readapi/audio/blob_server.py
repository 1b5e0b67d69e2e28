"""A server of blobs on loopback, which is the directory of accounts too."""

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from schemas.ids import Cid


def cid_of(content: bytes) -> Cid:
    """The CID under which servers give these bytes out."""
    hashed = b"\x01\x55\x12\x20" + hashlib.sha256(content).digest()
    return Cid("b" + base64.b32encode(hashed).decode().lower().rstrip("="))


class Server:
    """A person's own server that gives out what it is told to, and counts how often it is asked."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.asked = 0
        self.was_asked = asyncio.Event()
        self.release = asyncio.Event()
        self.release.set()
        self.prompt_for: set[str] = set()
        self.others: dict[str, str] = {}
        self.requests: list[web.Request] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        self.requests.append(request)
        self.was_asked.set()
        content = self.blobs.get(request.query["cid"])
        if content is None:
            return web.json_response({"error": "BlobNotFound"}, status=400)
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(content[: len(content) // 2])
        if request.query["did"] not in self.prompt_for:
            await self.release.wait()
        await response.write(content[len(content) // 2 :])
        return response

    async def documents(self, request: web.Request) -> web.Response:
        """Of everybody: their server is this one, but for those who are said to be at others."""
        here = self.others.get(request.match_info["did"], f"http://{request.host}")
        service = {"id": "#atproto_pds", "type": "AtprotoPersonalDataServer", "serviceEndpoint": here}
        return web.json_response({"id": request.match_info["did"], "alsoKnownAs": [], "service": [service]})


@asynccontextmanager
async def serving_blobs() -> AsyncIterator[tuple[Server, str]]:
    """It and its address, for as long as the block runs."""
    server, app = Server(), web.Application()
    app.router.add_get("/xrpc/com.atproto.sync.getBlob", server.answer)
    app.router.add_get("/{did}", server.documents)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield server, f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        server.release.set()
        await runner.cleanup()
